"""Writes mutate/testdata/size_twice*.pt2: cases in which sizes that PyTorch gives symbols of their own have one symbol."""

import os
import re
import zipfile

from record import ROOT

GOLDEN = os.path.join(ROOT, "golden")


def renamed(source, target, names):
    """Copies an archive, with the symbols in names called what these say."""
    with zipfile.ZipFile(os.path.join(GOLDEN, "cases", source, "model.pt2")) as old, zipfile.ZipFile(os.path.join(GOLDEN, "mutate/testdata", target), "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("/models/model.json"):
                data = re.sub(rb"\bu\d+\b", lambda m: names.get(m[0].decode(), m[0].decode()).encode(), data)
            new.writestr(entry, data)


if __name__ == "__main__":
    renamed("late_sizes_equal", "size_twice.pt2", {"u1": "u0", "u3": "u2"})
    renamed("late_sizes_apart", "size_twice_apart.pt2", dict.fromkeys(["u1", "u2", "u3", "u6"], "u0"))
