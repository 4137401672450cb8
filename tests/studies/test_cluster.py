"""A cluster makes what one machine makes, whatever is killed."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import distributed  # noqa: F401 - before dask's settings are changed: it brings its own
import numpy as np
import pytest
from dask import config
from typer.testing import CliRunner

from crug.cli import app
from crug.errors import CrugError
from crug.model import Model, load
from crug.studies.cluster import Cluster
from crug.studies.pool import Pool
from crug.studies.search import open_study, table
from pretended import found, kept, plan, small, until
from waves import START, wave


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    with open(folder / f"log-{time.monotonic_ns()}", "wb") as log:
        command = [sys.executable, "-m", f"distributed.cli.{words[0]}", *words[1:]]
        return subprocess.Popen(command, stdout=log, stderr=log)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, as a user starts them."""
    file = tmp_path / "scheduler.json"
    common = ("--scheduler-file", str(file))
    scheduler = start(tmp_path, "dask_scheduler", *common, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path / "scratch"))
    workers = [start(tmp_path, "dask_worker", *common, *options) for _ in range(2)]
    yield file, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


COORDINATOR = """
import sys
from pathlib import Path
from pretended import plan, quiet
from crug.runs import Result
from crug.studies import worker
from crug.studies.cluster import Cluster
from crug.studies.records import Shelf
from crug.studies.reproduce import Desk
from crug.studies.search import search
folder = Path(sys.argv[2])
search(plan(6, 1), Desk(Shelf(folder / "results"), folder), Cluster(sys.argv[1], folder / "runs"), quiet)
"""


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_and_its_coordinator_ends_as_the_pool(cluster, tmp_path):
    file, workers = cluster
    place = tmp_path / "cluster"
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }
    command = [sys.executable, "-c", COORDINATOR, str(file), str(place)]
    with subprocess.Popen(command, env=env) as coordinator:
        until(lambda: len(list(place.glob("results/*/*/*.json"))) >= 2, coordinator)
        workers[0].kill()
        until(lambda: len(list(place.glob("results/*/*/*.json"))) >= 4, coordinator)
        coordinator.kill()
    assert subprocess.run(command, env=env, timeout=300).returncode == 0
    assert found(plan(6, 1), tmp_path / "pool", Pool(tmp_path / "pool", 2)) == table(open_study(plan(6, 1), place))
    assert kept(place / "results") == kept(tmp_path / "pool" / "results")


@pytest.mark.slow
def test_recordings_learned_on_a_cluster_are_those_of_one_worker(cluster, tmp_path):
    file, workers = cluster
    names = []
    for k in range(3):
        names.append(str(tmp_path / f"r{k}.npy"))
        np.save(names[-1], wave(2, 1 + 0.3 * k, 400))
    few = ["--epochs", "2", "--units", "6"]
    for lab, more in (("one.crug", []), ("all.crug", ["--cluster", str(file)])):
        Model(units=60, settings=START).save(tmp_path / lab)
        done = CliRunner().invoke(app, ["learn", str(tmp_path / lab), *names, *few, *more])
        assert done.exit_code == 0, (done.output, done.exception)
        workers[0].kill()
    one, other = ([kept.content() for kept in load(tmp_path / lab).kept] for lab in ("one.crug", "all.crug"))
    assert one == other


def test_no_scheduler_is_an_error_that_says_how_to_start_one(tmp_path):
    soon = config.set({"distributed.comm.timeouts.connect": "1s"})
    with soon, pytest.raises(CrugError, match=r"start one, as docs/reproduce\.md"):
        list(Cluster("tcp://127.0.0.1:1", tmp_path).carry_out([small()]))
    with pytest.raises(CrugError, match=r"takes certificates.*TLS__CA_FILE"):
        list(Cluster("tls://127.0.0.1:1", tmp_path).carry_out([small()]))


def test_a_worker_of_a_cluster_finds_runs_wherever_it_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Cluster("tcp://127.0.0.1:1", Path("runs")).runs == tmp_path / "runs"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")
def test_a_cluster_behind_tls(tmp_path, monkeypatch):
    """The scheduler, its worker and this process have the same certificate, as docs/reproduce.md tells."""
    monkeypatch.chdir(tmp_path)
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *names], check=True)
    here = ("--tls-ca-file", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    place = ("--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    processes = [start(tmp_path, "dask_scheduler", *place, *here, "--scheduler-file", "scheduler.json")]
    until((tmp_path / "scheduler.json").exists, processes[0])
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", "scheduler.json")
    processes.append(start(tmp_path, "dask_worker", *options, *here))
    certificates = {"ca-file": "cert.pem", "client.cert": "cert.pem", "client.key": "key.pem"}
    try:
        with config.set({f"distributed.comm.tls.{name}": file for name, file in certificates.items()}):
            (done,) = Cluster("scheduler.json", Path("runs")).carry_out([small()])
        assert done.result is not None
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
