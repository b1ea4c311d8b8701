"""Makes the small cases of golden/cases: python3 small.py [NAME...], all of them without names.

Each function of families/*.py that returns a Case is one; its name is the folder, its docstring becomes the note.
"""

import inspect
import os
import sys
import zlib

import torch

from families import arithmetic, control, indexing, layers, pooling, signature, state, views
from families.case import Case
from record import ROOT, record


def functions():
    """{name: function} in the order of the families and of their sources."""
    found = {}
    for family in (arithmetic, views, state, control, signature, indexing, layers, pooling):
        for name, f in vars(family).items():
            if inspect.isfunction(f) and inspect.signature(f).return_annotation is Case:
                if name in found:
                    raise SystemExit(f"two cases are called {name}")
                found[name] = f
    return found


def main(names):
    torch.set_num_threads(1)
    known = functions()
    unknown = [n for n in names if n not in known]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        # Seeded by name, so that one case does not change when another comes or goes.
        torch.manual_seed(zlib.crc32(name.encode()))
        case = known[name]()
        record(
            os.path.join(ROOT, "golden", "cases", name),
            case.model.eval(),
            case.args,
            case.kwargs,
            runs=case.runs,
            label=case.label,
            dynamic_shapes=case.dynamic_shapes,
            stateful=case.stateful,
            note=" ".join(known[name].__doc__.split()),
        )
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
