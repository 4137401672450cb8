"""What the documentation shows is run as it stands."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crug

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]


@pytest.mark.slow
@pytest.mark.long
def test_four_recordings_on_four_days(tmp_path):
    """Each day's blocks in a process of their own."""
    days: dict[str, str] = {}
    for day, code in re.findall(r"```python (\w+)\n(.*?)```", (DOCS / "recordings.md").read_text(), re.S):
        days[day] = days.get(day, "") + code
    assert list(days) == ["monday", "tuesday", "wednesday", "thursday"]
    for day, code in days.items():
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (day, done.stderr[-2_000:])
    model = crug.load(tmp_path / "lab.crug")
    assert model.tasks == ("monday", "tuesday", "wednesday", "thursday")
    assert all(model.verify().values())
    assert model.score("monday")["d_stsp"] < 2
    assert model.score("thursday")["error"] < 0.3
    assert (tmp_path / "rollouts.png").stat().st_size > 10_000


@pytest.mark.slow
def test_one_recording_from_a_file_to_what_it_is(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "understand.md").read_text(), re.S))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "weather: a chaotic attractor\nlargest exponent " in done.stdout
    said = re.search(r"a chaotic attractor with an exponent of ([\d.]+) per time unit; dimension ([\d.]+)", done.stdout)
    assert said
    assert float(said[1]) == pytest.approx(0.906, abs=0.25)
    assert float(said[2]) == pytest.approx(2.06, abs=0.1)
    assert "weather: its forecasts are " in done.stdout
    assert "new: forecasts of the nearest, weather, are " in done.stdout
    assert "unstable focus" in done.stdout
    assert (tmp_path / "weather.html").stat().st_size > 1e6


def test_the_method_page_shows_the_template_as_it_is():
    page = (DOCS / "write-your-own-method.md").read_text()
    from crug.methods import _template

    template = Path(_template.__file__).read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        assert block in template
    own = [line for line in template[template.index("class MineSettings") :].splitlines() if line.strip()]
    assert len(own) <= 40


def found(name: str) -> Any:
    """What a dotted name of the package stands for: modules as far as they go, then attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_where_it_says(page):
    text = page.read_text()
    for name in re.findall(r"`(crug(?:\.[A-Za-z_]\w*)+)", text):
        assert found(name) is not None, name
    for path in re.findall(r"`((?:src|tests|benchmarks|docs)/[\w/.-]+)`", text):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link


def test_the_walk_through_the_architecture_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    walked = set(re.findall(r"`crug\.(\w+)\.", text))
    assert {"core", "metrics", "readers", "tasks", "training", "methods", "runs", "model", "report"} <= walked
    assert len(re.findall(r"`crug(?:\.\w+)+`", text)) > 40
    with pytest.raises(AttributeError):
        found("crug.core.network.nothing")
