"""Makes the small cases of golden/cases: python3 small.py [NAME...], all of them without names.

Each function of families/*.py that returns a Case, or Methods, is one; its name is the folder, its docstring becomes the note.
"""

import inspect
import os
import sys
import zlib

import torch

from families import arithmetic, caches, composites, control, detection, guards, indexing, layers, methods, names, pooling, signature, special, spectra, state, streaming, views
from families.case import Case, Methods
from record import ROOT, record, record_methods


def functions():
    """{name: function} in the order of the families and of their sources."""
    found = {}
    for family in (arithmetic, views, state, caches, control, signature, indexing, layers, pooling, methods, composites, guards, streaming, spectra, names, detection, special):
        for name, f in vars(family).items():
            if inspect.isfunction(f) and inspect.signature(f).return_annotation in (Case, Methods):
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
        folder, note = os.path.join(ROOT, "golden", "cases", name), " ".join(known[name].__doc__.split())
        if isinstance(case, Methods):
            record_methods(folder, case.model.eval(), case.methods, case.calls, share=case.share, note=note)
            print(name)
            continue
        record(
            folder,
            case.model.eval(),
            case.args,
            case.kwargs,
            runs=case.runs,
            label=case.label,
            dynamic_shapes=case.dynamic_shapes,
            stateful=case.stateful,
            core=case.core,
            zero=case.zero,
            note=note,
        )
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
