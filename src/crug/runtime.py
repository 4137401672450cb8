"""How the machine is used: one thread and a cache for compiled code, which entry points ask for and importing crug does
not; and no more compiled code at a time than a process may hold."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from crug.errors import CrugError

ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}

MAPS, MOST = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
"""Where Linux says which pieces of memory a process has, and how many it may have."""


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
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # many small ones take seconds too


def free_memory() -> float:
    """Bytes that this process may still take, as far as the system says; infinite where it does not."""
    found = [float("inf")]
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]))
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        used = int((group / "memory.current").read_text())
        found.append(int((group / "memory.max").read_text()) - used)
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            found.append(limit - pages * resource.getpagesize())
    return max(0.0, min(found))


def affordable(needed: float, what: str, remedy: str = "", flags: str = "") -> None:
    """Refuse what needs more memory than there is, before it is begun."""
    if needed > (free := free_memory()):
        raise CrugError(f"{what}: needs about {gigabytes(needed)} of memory, {gigabytes(free)} are free", remedy, flags)


def gigabytes(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"


def make_room() -> None:
    """Drop compiled code where there is much of it. Every task brings a few thousand pieces of memory, for each size of
    a network some, and a process that asks for more than Linux allows, after thirty tasks or so, is killed."""
    if not (MAPS.exists() and MOST.exists()):
        return
    with MAPS.open() as lines:
        held = sum(1 for _ in lines)
    if held > int(MOST.read_text()) * 2 // 3:
        import jax

        jax.clear_caches()
