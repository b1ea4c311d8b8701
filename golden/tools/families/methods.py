"""Modules of which several methods are exported."""

import torch
from torch import nn

from .case import Methods, call


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.key = nn.Linear(4, 4)
        self.value = nn.Linear(4, 4)
        self.register_buffer("keys", torch.zeros(6, 4))
        self.register_buffer("values", torch.full((6, 4), 0.5))

    def attend(self, x, last):
        weights = self.query(x) @ self.keys.t()
        hidden = torch.arange(6) > last.reshape(-1, 1)
        return torch.softmax(weights.masked_fill(hidden, float("-inf")), -1) @ self.values

    def prefill(self, x):
        self.keys[:3] = self.key(x)
        self.values[:3] = self.value(x)
        return self.attend(x, torch.arange(3))

    def decode(self, x, at):
        self.keys.index_copy_(0, at, self.key(x))
        self.values.index_copy_(0, at, self.value(x))
        return self.attend(x, at)

    def peek(self):
        return self.keys.sum(0), self.values * 2


def _calls():
    return [
        call("peek"),
        call("prefill", torch.randn(3, 4)),
        call("decode", torch.randn(1, 4), torch.tensor([3])),
        call("peek"),
        call("decode", torch.randn(1, 4), torch.tensor([4])),
        call("prefill", torch.randn(3, 4)),
        call("decode", torch.randn(1, 4), torch.tensor([5])),
        call("peek"),
    ]


def methods_shared() -> Methods:
    """Three methods with the same weights and the same caches, which two of them write and one only reads."""
    return Methods(Generator(), ("prefill", "decode", "peek"), _calls(), share=True)


def methods_apart() -> Methods:
    """The same three methods, each with caches of its own."""
    return Methods(Generator(), ("prefill", "decode", "peek"), _calls(), share=False)
