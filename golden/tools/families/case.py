"""What the functions of the families return."""

from dataclasses import dataclass, field
from typing import Any

from torch import nn


@dataclass
class Case:
    """A model and the calls to record of it; the fields are the parameters of record.record."""

    model: nn.Module
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    runs: list = field(default_factory=list)
    label: Any = None
    dynamic_shapes: Any = None
    stateful: bool = False
    core: bool = True
    zero: bool = False


def function(f):
    """A module without state that computes f."""
    cls = type("Function", (nn.Module,), {"forward": staticmethod(f), "__module__": f.__module__})
    return cls()


class Converted(nn.Module):
    """What convert_pt2e made; it is in the mode it was exported in."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)

    def train(self, mode=True):
        return self


def run(*args, label=None, **kwargs):
    """A further call."""
    return dict(args=args, kwargs=kwargs, label=label)


@dataclass
class Methods:
    """A model of which several methods are exported, each to a file of its own, and the calls to record; the fields are the parameters of record.record_methods."""

    model: nn.Module
    methods: tuple
    calls: list
    share: bool


def call(method, *args):
    """A call of a method."""
    return dict(method=method, args=args)
