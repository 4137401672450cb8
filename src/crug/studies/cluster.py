"""The engine for several machines: work on the workers of a dask cluster, its results back over its scheduler.

A worker keeps its work in a folder of its own, or in one that all machines share; there an interrupted run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from crug.errors import CrugError
from crug.runs import Result
from crug.runs.hands import TRIES
from crug.studies.pool import Done
from crug.studies.wanted import Wanted

T = TypeVar("T")
R = TypeVar("R")


CERTIFICATES = tuple(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"))
"""The environment variables by which dask learns of them; its configuration file may have them too."""


class Dispatch(Generic[T, R]):
    """A crew of the workers of a dask scheduler, each of which calls `work`.

    Parameters
    ----------
    scheduler : a file that the scheduler wrote (`dask scheduler --scheduler-file FILE`), or its address.
    work : a function that can be sent to them, as can what it takes and gives.
    """

    def __init__(self, scheduler: str, work: Callable[[T], R]):
        self.scheduler, self.work = scheduler, work
        self.given: dict[Any, T] = {}

    def __enter__(self) -> Self:
        distributed = _distributed()
        self.client = _client(distributed, self.scheduler)
        self.finished = distributed.as_completed(loop=self.client.loop)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def give(self, work: T) -> None:
        future = self.client.submit(self.work, work, retries=TRIES, pure=False)
        self.given[future] = work
        self.finished.add(future)

    def next(self) -> tuple[T, R | CrugError]:
        future = next(self.finished)
        work = self.given.pop(future)
        if future.status == "finished":
            return work, future.result()
        error = future.exception()
        return work, error if isinstance(error, CrugError) else CrugError(f"{type(error).__name__}: {error}")


class Cluster:
    """The workers of a dask scheduler.

    Parameters
    ----------
    scheduler : a file that the scheduler wrote (`dask scheduler --scheduler-file FILE`), or its address.
    runs : the store of runs, as the workers see it.
    """

    def __init__(self, scheduler: str, runs: Path):
        self.scheduler, self.runs = scheduler, runs.resolve()  # a worker has a working directory of its own

    @property
    def at_once(self) -> int:
        """Runs at a time: a worker has one thread for each."""
        with Dispatch(self.scheduler, _one) as crew:
            return sum(crew.client.nthreads().values())

    def carry_out(self, wanted: Sequence[Wanted]) -> Iterator[Done]:
        by_place = {str(self.runs / one.place): one for one in wanted}
        with Dispatch(self.scheduler, _one) as crew:
            for one in wanted:
                crew.give((one.model_dump(), str(self.runs / one.place)))
            for _ in wanted:
                (_, place), found = crew.next()
                if isinstance(found, CrugError):
                    yield Done(by_place[place], None, f"{type(found).__name__}: {found}")
                else:
                    yield Done(by_place[place], Result.model_validate(found))


def _client(distributed: Any, scheduler: str) -> Any:
    """A client of a scheduler; of one behind TLS, by the certificates that dask's own configuration names."""
    try:
        file = Path(scheduler)
        address = str(json.loads(file.read_text()).get("address")) if file.is_file() else scheduler
        security = distributed.Security() if address.startswith("tls") else None
        if security and not (security.tls_ca_file and security.tls_client_cert and security.tls_client_key):
            raise CrugError(f"{address}: takes certificates, and dask knows of none; name {', '.join(CERTIFICATES)}")
        return distributed.Client(address, security=security, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CrugError(
            f"{scheduler}: no scheduler answers there ({error}); start one, as docs/reproduce.md tells"
        ) from None


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise CrugError('a cluster needs dask: pip install "crug[cluster]"') from None
    return distributed


def _one(work: tuple[dict[str, Any], str]) -> dict[str, Any]:
    """On a worker: the run in a process of its own, which has one thread and leaves no compiled code behind."""
    from crug.studies.pool import one_run

    wanted, folder = work
    return one_run(Wanted.model_validate(wanted), Path(folder)).model_dump()
