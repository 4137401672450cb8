"""How a run uses the machine: one thread, a cache for compiled code. The entry points call it before JAX starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def cache_folder() -> Path:
    """Where compiled code is kept between runs: the user's cache folder."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "crug"


def one_thread() -> None:
    """One thread a run: two that share a core are slower than one, and many runs side by side use many cores."""
    for name, value in ONE_THREAD.items():
        if name == "XLA_FLAGS":
            value = f"{os.environ.get(name, '')} {value}".strip()
        os.environ[name] = value
    import jax

    jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
