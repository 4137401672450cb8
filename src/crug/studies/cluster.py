"""The engine for several machines: runs on the workers of a dask cluster, their results back over its scheduler.

A worker keeps its runs in a folder of its own, or in one that all machines share; there an interrupted run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from crug.errors import CrugError
from crug.runs import Result
from crug.studies.pool import TRIES, Done
from crug.studies.wanted import Wanted


class Cluster:
    """The workers of a dask scheduler.

    Parameters
    ----------
    scheduler : a file that the scheduler wrote (`dask scheduler --scheduler-file FILE`), or its address.
    runs : the store of runs, as the workers see it.
    """

    def __init__(self, scheduler: str, runs: Path):
        self.scheduler, self.runs = scheduler, runs

    def carry_out(self, wanted: Sequence[Wanted]) -> Iterator[Done]:
        distributed = _distributed()
        with self._client(distributed) as client:
            futures = {
                client.submit(_one, one.model_dump(), str(self.runs / one.place), retries=TRIES, pure=False): one
                for one in wanted
            }
            for future in distributed.as_completed(futures, loop=client.loop):
                one = futures[future]
                if future.status == "finished":
                    yield Done(one, Result.model_validate(future.result()))
                else:
                    yield Done(one, None, f"{type(future.exception()).__name__}: {future.exception()}")

    def _client(self, distributed: Any) -> Any:
        by_file = Path(self.scheduler).is_file()
        try:
            where = {"scheduler_file": self.scheduler} if by_file else {"address": self.scheduler}
            return distributed.Client(**where, set_as_default=False)
        except (OSError, ValueError) as error:
            raise CrugError(
                f"{self.scheduler}: no scheduler answers there ({error}); start one, as docs/reproduce.md tells"
            ) from None


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise CrugError('a cluster needs dask: pip install "crug[cluster]"') from None
    return distributed


def _one(wanted: dict[str, Any], folder: str) -> dict[str, Any]:
    """On a worker: the run in a process of its own, which has one thread and leaves no compiled code behind."""
    from crug.studies.pool import one_run

    return one_run(Wanted.model_validate(wanted), Path(folder)).model_dump()
