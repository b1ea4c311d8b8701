"""Buffers and inputs that a call changes; shared parameters."""

import copy

import torch
from torch import nn

from .case import Case, run


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        before = self.total * 1
        self.calls.add_(1)
        self.total += x
        return before, self.total / self.calls


def mutated_buffer() -> Case:
    """Two buffers carry a running mean; the old value is read before it is overwritten."""
    return Case(Counter(), (torch.randn(3),), runs=[run(torch.randn(3)) for _ in range(3)], stateful=True)


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 2))

    def forward(self, x, position):
        self.cache.index_copy_(0, position, x)
        return self.cache @ x.t()


def cache() -> Case:
    """A row of a buffer is replaced at a position that is an input; the whole buffer is read after."""
    at = [torch.tensor([i]) for i in (0, 1, 3, 1)]
    return Case(Cache(), (torch.randn(1, 2), at[0]), runs=[run(torch.randn(1, 2), p) for p in at[1:]], stateful=True)


class MutatedInput(nn.Module):
    def forward(self, x, y):
        before = x + y
        x.mul_(2)
        y[1:].zero_()
        return before, x - y


def mutated_input() -> Case:
    """Two inputs are changed in place, one of them in part."""
    return Case(MutatedInput(), (torch.randn(3), torch.randn(3)))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.embed(tokens)))


def tied_weights() -> Case:
    """One parameter under two names: embedding and head."""
    return Case(Tied(), (torch.tensor([[3, 0, 6]]),))


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offset", torch.arange(4.0), persistent=False)
        self.plain = torch.tensor([0.5, 2.0, -1.0, 3.0])

    def forward(self, x):
        return x * self.plain + self.offset + torch.tensor([1.0, 0.0, 0.0, 1.0])


def constants() -> Case:
    """A buffer that is not saved with the state, a plain attribute, a tensor made in forward."""
    return Case(Constants(), (torch.randn(2, 4),))


class ItemCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(6, 3))

    def forward(self, x, at):
        n = at.item()
        torch._check(n >= 0)
        torch._check(n < 6)
        self.cache.narrow(0, n, 1).copy_(x)
        return self.cache.sum(0), self.cache[at]


def cache_at_item() -> Case:
    """A cache that is written at a position which is read from a tensor."""
    runs = [run(torch.randn(1, 3), torch.tensor(n)) for n in (5, 0, 2)]
    return Case(ItemCache(), (torch.randn(1, 3), torch.tensor(2)), runs=runs, stateful=True)


class Accumulator(nn.Module):
    def __init__(self):
        super().__init__()
        self.total = torch.tensor([1.0, 2.0, 3.0])
        self.rows = torch.zeros(4, 3)
        self.scale = torch.tensor([0.5, 2.0, 1.0])

    def forward(self, x, at):
        self.total.add_(x)
        self.rows.index_copy_(0, at, x[None])
        self.rows[1:, 2].mul_(2)
        return self.total * self.scale, self.rows.sum(0)


def mutated_constant() -> Case:
    """Plain attributes, which torch.export makes constants, are written in place: they are state, with their values as the first."""
    at = [torch.tensor([i]) for i in (0, 3, 1, 3)]
    runs = [run(torch.randn(3), p) for p in at[1:]]
    return Case(Accumulator(), (torch.randn(3), at[0]), runs=runs, stateful=True, core=False)


class WrittenParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3))
        self.register_buffer("seen", torch.ones(2, dtype=torch.int64), persistent=False)

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.weight)
        self.weight[0].sub_(x * 0.125)
        self.seen.add_(1)
        return y, y / self.seen


def mutated_parameter() -> Case:
    """A parameter and a buffer that is not saved with the state are written in place."""
    model = WrittenParameter().requires_grad_(False)
    return Case(model, (torch.randn(3),), runs=[run(torch.randn(3)) for _ in range(3)], stateful=True)


class StaticCacheLlama(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

        config = LlamaConfig(
            vocab_size=29, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=8, attn_implementation="sdpa", pad_token_id=None, bos_token_id=None, eos_token_id=None,
        )
        self.llama = LlamaForCausalLM(config).eval()
        self.cache = StaticCache(config=config, max_cache_len=8)
        self.cache.early_initialization(1, 2, 4, torch.float32, torch.device("cpu"))

    def forward(self, token, position):
        for layer in self.cache.layers:  # as transformers.integrations.executorch has it: export itself counts a call
            layer.cumulative_length.copy_(position)
        out = self.llama(token, past_key_values=self.cache, cache_position=position, position_ids=position[None], use_cache=True)
        return out.logits[:, -1]


def static_cache_llama() -> Case:
    """A small Llama of transformers decodes with a StaticCache, which export makes constants that are written in place: a token a call."""
    model = StaticCacheLlama()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    eager, calls, token = copy.deepcopy(model), [], torch.tensor([[7]])
    with torch.no_grad():
        for i in range(6):
            calls.append((token, torch.tensor([i])))
            token = eager(*calls[-1]).argmax(-1, keepdim=True)
    return Case(model, calls[0], runs=[run(*c) for c in calls[1:]], stateful=True, core=False)


def state_tied() -> Case:
    """One buffer under two names: what is written by either is read by the other. The calls are stateful."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.register_buffer("seen", self.total)
            self.register_buffer("other", torch.ones(3))

        def forward(self, x):
            self.total.add_(x)
            half = self.seen / 2
            self.seen.mul_(self.other)
            self.other += 1
            return half, self.total + 1

    return Case(Tied(), (torch.ones(3),), runs=[run(torch.randn(3)), run(torch.randn(3))], stateful=True, core=False)
