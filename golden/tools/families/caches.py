"""Buffers of which a call replaces a part, as caches of keys and values are: where they lie, without a copy of the whole."""

import torch
from torch import nn
from torch._higher_order_ops.scan import scan

from .case import Case, run


def at(*positions):
    return torch.tensor(positions)


def turns(*steps):
    """A stateful case: further calls, each a tuple of arguments."""
    return {"runs": [run(*s) for s in steps], "stateful": True}


class Cached(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.register_buffer("cache", torch.arange(float(torch.Size(sizes).numel())).view(sizes) / 8)


class OldValue(Cached):
    def forward(self, x, position):
        old = self.cache.clone()
        self.cache.index_copy_(0, position, x)
        return old @ x.t() + self.cache.sum(1, keepdim=True), old[1:3]


def cache_old_value() -> Case:
    """What a cache held is read after it was written: as a whole and in part."""
    return Case(OldValue(5, 2), (torch.randn(1, 2), at(3)), **turns((torch.randn(1, 2), at(1)), (torch.randn(1, 2), at(3))))


class OldPart(Cached):
    def forward(self, x):
        last = self.cache[4].clone()
        first = self.cache[0].clone()
        self.cache[1:4] = x
        self.cache[4] = first
        return last, first, self.cache.sum(0)


def cache_old_part() -> Case:
    """Parts of a cache are read after others were written; one of them is then overwritten, one moved."""
    return Case(OldPart(5, 3), (torch.randn(3, 3),), **turns((torch.randn(3, 3),), (torch.randn(3, 3),)))


class Overlapping(Cached):
    def forward(self, x):
        self.cache[0:3].add_(x)
        self.cache[2:5].mul_(x)
        between = self.cache[1:4] * 2
        self.cache[3:6] = between
        return self.cache.sum(0), between


def cache_overlapping() -> Case:
    """Slices that overlap are written one after the other; the last holds what the others left."""
    return Case(Overlapping(6, 2), (torch.randn(3, 2),), **turns((torch.randn(3, 2),), (torch.randn(3, 2),)))


class Twice(Cached):
    def forward(self, x, y, position):
        self.cache.index_copy_(0, position, x)
        between = self.cache @ y.t()
        self.cache.index_copy_(0, position + 1, y)
        return between + self.cache.sum(1, keepdim=True)


def cache_twice() -> Case:
    """A cache is written twice in a call and read after each write, in one sum."""
    step = lambda n: (torch.randn(1, 3), torch.randn(1, 3), at(n))
    return Case(Twice(4, 3), step(0), **turns(step(2), step(1)))


class UnderCond(Cached):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("before", self.cache * 2)

    def forward(self, x, position):
        def write(cache, before, x, position):
            cache, after = cache.index_copy(0, position, x), before.index_copy(0, position, x)
            return cache, after, cache[0] + before[1] + x[0]

        def keep(cache, before, x, position):
            return cache.clone(), before.clone(), cache.sum(0) - x[0]

        cache, before, y = torch.cond(x.sum() > 0, write, keep, (self.cache, self.before, x, position))
        self.cache.copy_(cache)
        self.before.copy_(before)
        return y, self.cache.sum(1), self.before.sum(1)


def cache_under_cond() -> Case:
    """One arm of a branch writes a row of two caches, one of which it reads as it was, the other leaves them as they are."""
    steps = [(s * torch.rand(1, 2), at(n)) for s, n in ((1, 2), (-1, 0), (1, 0), (-1, 1))]
    return Case(UnderCond(4, 2), steps[0], **turns(*steps[1:]))


class InLoop(Cached):
    def forward(self, x, n):
        def going(i, cache):
            return i < n

        def step(i, cache):
            row = cache.sum(0, keepdim=True) + x
            return i + 1, cache.index_copy(0, i.view(1), row)

        i, cache = torch.while_loop(going, step, (torch.zeros((), dtype=torch.int64), self.cache))
        self.cache.copy_(cache)
        return i, self.cache @ x.t()


def cache_in_loop() -> Case:
    """A loop writes a row of a cache in each iteration, having read all of it."""
    steps = [(torch.randn(1, 2), torch.tensor(n)) for n in (3, 0, 4)]
    return Case(InLoop(4, 2), steps[0], **turns(*steps[1:]))


class InScan(Cached):
    def forward(self, xs):
        def step(cache, x):
            cache = torch.cat([cache[1:], x[None]])
            return cache, cache.sum(0)

        cache, ys = scan(step, self.cache.clone(), xs)
        self.cache.copy_(cache)
        return ys


def cache_in_scan() -> Case:
    """A scan moves a window over rows: each iteration makes all of what is carried anew."""
    return Case(InScan(3, 2), (torch.randn(5, 2),), **turns((torch.randn(5, 2),), (torch.randn(5, 2),)))


class Duplicates(Cached):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("counts", torch.zeros(sizes[0], dtype=torch.int64))

    def forward(self, x, index):
        self.cache.index_add_(0, index, x, alpha=2)
        self.counts.scatter_add_(0, index, torch.ones_like(index))
        self.cache.index_put_((index, index % 2), x[:, 0], accumulate=True)
        return self.cache / self.counts.clamp(min=1)[:, None]


def cache_duplicates() -> Case:
    """Rows and elements are added to at places that an index names more than once."""
    steps = [(torch.randn(4, 2), at(*n)) for n in ((1, 1, 0, 1), (4, 4, 4, 4), (0, 1, 2, 0))]
    return Case(Duplicates(5, 2), steps[0], **turns(*steps[1:]))


class Shifts(Cached):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("up", torch.zeros(sizes))
        self.register_buffer("round", self.cache * 3)

    def forward(self, x):
        self.cache[:-1] = self.cache[1:].clone()
        self.cache[-1] = x
        self.up[1:] = self.up[:-1].clone()
        self.up[0] = x
        self.round.copy_(torch.roll(self.round, 2, 0))
        return self.cache.sum(0) + self.up.prod(0), self.round[0]


def cache_shift() -> Case:
    """Rows move down by one, up by one, and round: what is written is read from the same memory."""
    return Case(Shifts(6, 3), (torch.randn(3),), **turns(*[(torch.randn(3),) for _ in range(4)]))


class Layers(nn.Module):
    """Attention in layers whose keys and values lie in one buffer."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.ModuleList([nn.Linear(8, 24) for _ in range(3)])
        self.register_buffer("cache", torch.zeros(3, 2, 2, 6, 4))

    def forward(self, x, position):
        seen = torch.arange(6) <= position
        for i, qkv in enumerate(self.qkv):
            q, k, v = qkv(x).view(3, 2, 1, 4)
            self.cache[i, 0].index_copy_(1, position, k)
            self.cache[i, 1].index_copy_(1, position, v)
            scores = (q @ self.cache[i, 0].transpose(1, 2)).masked_fill(~seen, float("-inf"))
            x = x + (scores.softmax(-1) @ self.cache[i, 1]).reshape(8)
        return x


def cache_layers() -> Case:
    """All layers' keys and values lie in one buffer; each layer writes a position of its part and attends to that."""
    steps = [(torch.randn(8), at(n)) for n in range(4)]
    return Case(Layers(), steps[0], **turns(*steps[1:]))


class Masks(Cached):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("other", torch.ones(sizes))
        self.register_buffer("third", torch.ones(sizes))

    def forward(self, x, position):
        hot = torch.arange(5) == position
        self.cache.copy_(torch.where(hot[:, None], x, self.cache))
        blend = hot[:, None].to(x.dtype)
        self.other.copy_(self.other * (1 - blend) + blend * x)
        self.third.masked_fill_(hot[:, None], 0.5)
        return self.cache.sum(0) + self.other.sum(0), self.third.sum(0)


def cache_masks() -> Case:
    """Rows are chosen by a mask: each element is read and written, or written where the mask says."""
    steps = [(torch.randn(1, 2), at(n)) for n in (0, 4, 2)]
    return Case(Masks(5, 2), steps[0], **turns(*steps[1:]))


class Windows(Cached):
    def forward(self, x, y):
        self.cache[:, 1:3] = x
        self.cache[2].copy_(y)
        self.cache[0, 3] = y.sum()
        self.cache.diagonal().add_(1)
        return self.cache.sum(0)


def cache_windows() -> Case:
    """Columns, a row, an element and the diagonal of a buffer are written."""
    step = lambda: (torch.randn(4, 2), torch.randn(4))
    return Case(Windows(4, 4), step(), **turns(step(), step()))


class InputCache(nn.Module):
    def forward(self, keys, values, x, position):
        keys.index_copy_(0, position, x)
        updated = values.index_copy(0, position, x * 2)
        return keys @ x.t(), updated, updated.sum(0)


def cache_of_caller() -> Case:
    """One cache is an input that the call changes, one an input that comes back as an output."""
    return Case(InputCache(), (torch.randn(4, 2), torch.randn(4, 2), torch.randn(1, 2), at(2)))


class Returned(Cached):
    def forward(self, x, position):
        self.cache.index_copy_(1, position, x)
        return self.cache, self.cache[0]


def cache_returned() -> Case:
    """A cache that is an output too: it is copied once, for the caller."""
    steps = [(torch.randn(2, 1, 3), at(n)) for n in (1, 3, 0)]
    return Case(Returned(2, 4, 3), steps[0], **turns(*steps[1:]))


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 4, 3, dtype=torch.float16))

    def forward(self, x, position):
        self.cache[:, position] = x.half()
        return self.cache.float().sum(1)


def cache_half() -> Case:
    """A cache of half precision, written by index_put at a position of each row."""
    steps = [(torch.randn(2, 1, 3), at(n)) for n in (1, 3, 0)]
    return Case(Half(), steps[0], **turns(*steps[1:]))


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x, keys, values):
        q, k, v = self.project(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4).unbind(0)
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        places = torch.arange(keys.shape[2])
        mask = places <= places[keys.shape[2] - x.shape[1] :, None]
        return nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask), keys, values


def cache_growing() -> Case:
    """A cache that is input and output and grows by what a call computes; it starts with none, and a call may bring nothing."""

    def sizes(new, old):
        return torch.randn(2, new, 8), torch.randn(2, 2, old, 4), torch.randn(2, 2, old, 4)

    new, old = torch.export.Dim("new", max=8), torch.export.Dim("old", max=16)
    shapes = ({1: new}, {2: old}, {2: old})
    return Case(Growing(), sizes(3, 5), runs=[run(*sizes(1, 8)), run(*sizes(8, 16)), run(*sizes(2, 0))], dynamic_shapes=shapes)
