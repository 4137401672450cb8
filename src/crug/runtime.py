"""How an entry point uses the machine: one thread, and a cache for compiled code. Importing crug does none of this."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def cache_folder() -> Path:
    """Where compiled code and downloaded data are kept between runs: the user's cache folder."""
    return user_cache_path("crug", appauthor=False)


def one_thread() -> None:
    """Let this process compute on one thread: two that share a core are slower than one, and many runs side by side
    use many cores. To be called before JAX starts."""
    for name, value in ONE_THREAD.items():
        if name == "XLA_FLAGS":
            value = f"{os.environ.get(name, '')} {value}".strip()
        os.environ[name] = value
    import jax

    jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
