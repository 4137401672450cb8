"""The page of a run that is under way: it follows, it only reads, and it serves nothing but itself."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from crug.errors import CrugError
from crug.page import Book
from crug.page.server import Source, server, source_of_files, source_of_run

SETTINGS = "epochs=10 network.M=24 network.P=10 training.window=400 path.start=8"


@contextmanager
def serving(source: Source):
    """A function that asks the server of a source for an address as it stands."""
    served = server(source)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()

    def ask(path: str, host: str = "127.0.0.1:80", method: str = "GET") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    try:
        yield ask
    finally:
        served.shutdown()
        served.server_close()
        thread.join()


@pytest.fixture
def plain(tmp_path):
    file = tmp_path / "watched"
    file.write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    return source_of_files(lambda: [file], lambda: Book("a page", "about it"))


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%252fsecret.txt",
        "/..\\secret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/secret.txt",
        "/version/../../secret.txt",
        "/?file=../secret.txt",
        "secret.txt",
        "http://127.0.0.1/../secret.txt",
    ],
)
def test_nothing_but_the_page_is_served(plain, path):
    with serving(plain) as ask:
        status, body = ask(path)
        assert status == 404
        assert body == "there is only the page"


def test_it_reads_only_and_answers_this_machine_only(plain):
    with serving(plain) as ask:
        assert ask("/", host="evil.example:80")[0] == 403
        assert ask("/", method="POST")[0] == 501
        assert ask("/", method="DELETE")[0] == 501
        status, body = ask("/", host="localhost:80")
        assert (status, "<h1>a page</h1>" in body) == (200, True)
        assert "connect-src &#x27;self&#x27;" in body


def test_a_new_state_is_a_new_version(plain, tmp_path):
    with serving(plain) as ask:
        status, first = ask("/version")
        assert status == 200
        assert f'data-version="{first}"' in ask("/")[1]
        assert ask("/version")[1] == first
        os.utime(tmp_path / "watched", ns=(1, 1))
        assert ask("/version")[1] != first


def test_what_cannot_be_shown_says_why_and_is_shown_when_it_is_mended(tmp_path):
    file = tmp_path / "watched"
    file.write_text("broken")

    def book() -> Book:
        if file.read_text() == "broken":
            raise CrugError("watched: is damaged", "mend it")
        return Book("a page", "about it")

    with serving(source_of_files(lambda: [file], book)) as ask:
        status, body = ask("/")
        assert (status, "watched: is damaged; mend it" in body) == (200, True)
        file.write_text("whole")
        os.utime(file, ns=(1, 1))
        assert "<h1>a page</h1>" in ask("/")[1]


def test_a_port_that_is_taken_and_a_folder_that_is_no_run_are_refused(plain, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CrugError, match=r"port \d+: .*; choose another one"):
            server(plain, taken.getsockname()[1])
    with pytest.raises(CrugError, match="not the folder of a run"):
        source_of_run(tmp_path)


def begun(folder: Path) -> subprocess.Popen:
    sets = [part for setting in SETTINGS.split() for part in ("--set", setting)]
    command = [sys.executable, "-m", "crug", "run", "--tasks", "van-der-pol,chua", *sets, "--out", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def waited(holds, process: subprocess.Popen, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        assert process.poll() in (None, 0)
        time.sleep(0.1)


@pytest.mark.slow
def test_the_page_goes_on_while_a_run_is_killed_and_resumed(tmp_path):
    folder = tmp_path / "run"
    process = begun(folder)
    waited((folder / "progress" / "history.json").exists, process)
    with serving(source_of_run(folder)) as ask:
        status, body = ask("/")
        assert (status, "no task has been learned yet" in body) == (200, True)
        waited((folder / "tasks" / "1-van-der-pol" / "task.json").exists, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        status, body = ask("/")
        assert status == 200
        assert 'id="task-1"' in body
        assert 'id="task-2"' not in body
        before = ask("/version")[1]
        process = begun(folder)
        assert process.wait(timeout=240) == 0
        assert ask("/version")[1] != before
        status, body = ask("/")
        assert status == 200
        assert 'id="task-2"' in body
        assert "The run is complete." in body
    assert not list(folder.glob(".lock"))
