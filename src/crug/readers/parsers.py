"""A program that reads one file of a format which foreign C code parses, and hands the numbers in it on.

`readers/foreign.py` starts it as a process of its own, with limits on time and memory: on a malformed file such code
may crash, never end, or ask for all the memory there is. It is a script that knows nothing of crug. The question comes
as JSON on its standard input. The answer goes to its standard output: the length of a JSON text in eight bytes, the
text, then the arrays one after another.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    asked = json.loads(sys.stdin.read())
    sys.path[:] = asked["paths"]
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    limit(asked["seconds"], asked["memory"], asked["kind"])
    try:
        found = KINDS[asked["kind"]](asked["path"])
    except NotImplementedError:
        found = {"error": "of a version that is not read", "version": True}
    except Exception as error:  # such code raises many kinds on a damaged file
        found = {"error": brief(error)}
    answer(out, found)


def limit(seconds, memory, kind):
    """No more than that of either, from here on; a system without such limits has its own."""
    WARM[kind]()
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        spent = int(sum(os.times()[:2])) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, spent + seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass


def brief(error):
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


def answer(out, found):
    import numpy as np

    arrays = []
    for i, value in enumerate(found.get("arrays", ())):
        if value is not None and value.dtype.kind in "fiub":
            value = np.ascontiguousarray(value, "<f8")
        elif value is not None and value.dtype.kind == "c":
            value = np.ascontiguousarray(value, "<c16")
        else:
            value = None
        found["arrays"][i] = None if value is None else [value.dtype.str, list(value.shape)]
        arrays += [] if value is None else [value]
    text = json.dumps(found).encode()
    with os.fdopen(out, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in arrays:
            file.write(memoryview(value.reshape(-1)).cast("B"))


def listed(named):
    """Arrays by name, as an answer."""
    kinds = [str(getattr(value, "dtype", type(value).__name__)) for value in named.values()]
    return {"names": list(named), "kinds": kinds, "arrays": list(named.values())}


def npz(path):
    import numpy as np

    found = {}
    with np.load(path, allow_pickle=False) as loaded:
        for name in loaded.files:
            try:
                value = loaded[name]
            except ValueError as error:
                if "Object arrays" not in str(error):
                    raise
                continue
            if isinstance(value, np.ndarray):
                found[name] = value
    return listed(found)


def mat(path):
    import numpy as np
    from scipy.io import loadmat

    loaded = loadmat(path, appendmat=False)
    return listed({k: v for k, v in loaded.items() if not k.startswith("__") and isinstance(v, np.ndarray)})


def parquet(path):
    from pyarrow import types
    from pyarrow.parquet import read_table

    table = read_table(path, use_threads=False)
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    arrays = []
    for column in table.columns:
        number = any(kind(column.type) for kind in numeric)
        arrays.append(column.to_numpy().astype("<f8") if number else None)
    kinds = [str(column.type) for column in table.columns]
    return {"names": list(table.column_names), "kinds": kinds, "arrays": arrays, "rows": table.num_rows}


def wfdb(path):
    import numpy as np
    import wfdb

    record: Any = wfdb.rdrecord(path)
    values = np.asarray(record.p_signal, "<f8")
    names = [name or str(i + 1) for i, name in enumerate(record.sig_name or [None] * values.shape[1])]
    interval = 1 / record.fs
    return {"names": names, "kinds": ["float64"] * len(names), "arrays": list(values.T), "interval": interval}


def needs(*modules):
    """What has to be imported before memory is counted."""

    def warm():
        for module in modules:
            __import__(module)

    return warm


KINDS = {"npz": npz, "mat": mat, "parquet": parquet, "wfdb": wfdb}
WARM = {
    "npz": needs("numpy"),
    "mat": needs("numpy", "scipy.io"),
    "parquet": needs("numpy", "pyarrow.parquet"),
    "wfdb": needs("numpy", "wfdb"),
}

if __name__ == "__main__":
    main()
