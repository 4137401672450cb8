"""What the documentation shows is run as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import crug

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
def test_three_recordings_on_three_days(tmp_path):
    """Each day's block in a process of its own."""
    blocks = re.findall(r"```python (\w+)\n(.*?)```", (DOCS / "recordings.md").read_text(), re.S)
    assert [day for day, _ in blocks] == ["monday", "tuesday", "wednesday"]
    for day, code in blocks:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (day, done.stderr[-2_000:])
    model = crug.load(tmp_path / "lab.crug")
    assert model.tasks == ("monday", "tuesday", "wednesday")
    assert all(model.verify().values())
    assert model.score("monday")["d_stsp"] < 2
    assert (tmp_path / "rollouts.png").stat().st_size > 10_000


def test_the_method_page_shows_the_template_as_it_is():
    page = (DOCS / "write-your-own-method.md").read_text()
    from crug.methods import _template

    template = Path(_template.__file__).read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        assert block in template
    own = [line for line in template[template.index("class MineSettings") :].splitlines() if line.strip()]
    assert len(own) <= 40
