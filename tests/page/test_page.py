"""The page of a model: what is in it, and what a real browser makes of it."""

import io
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crug
from crug.core.network import commit, create
from crug.model.told import book_of_model
from crug.page import page, write_page
from crug.page.overall import feeding, of_book
from page.browser import browser, missing

THREE = Path(__file__).parents[1] / "data" / "three.crug"


@pytest.fixture(scope="module")
def book():
    return book_of_model(crug.load(THREE), "three")


@pytest.fixture(scope="module")
def text(book):
    return page(book)


@pytest.fixture(scope="module")
def file(text, tmp_path_factory):
    place = tmp_path_factory.mktemp("page") / "three.html"
    place.write_text(text)
    return place


def of_twenty(book):
    """A page of as many recordings: the three again and again."""
    chapters = [replace(book.chapters[i % 3], name=f"recording {i}") for i in range(20)]
    return page(replace(book, chapters=chapters))


def without_plotly(text: str) -> str:
    """The page up to its scripts."""
    return text[: text.rindex("</main>")]


def test_a_page_has_all_that_it_needs_and_words_for_everything(text, book):
    assert len(text) < 8_000_000
    body = without_plotly(text)
    figures = re.findall(r"<figure.*?</figure>", body, re.S)
    assert len(figures) == 1 + 3 * 6
    for figure in figures:
        assert re.search(r'role="img" aria-label="[^"]{20,}"', figure)
        assert re.search(r"<figcaption>[^<]{10,}</figcaption>", figure)
        material = re.search(r'<script type="application/json">(.*?)</script>', figure, re.S)
        assert material
        assert set(json.loads(material[1])) == {"data", "layout"}
    assert not re.search(r'(src|href)="(?!#|data:)', body)
    for chapter in book.chapters:
        assert f">{chapter.name}</a>" in body
        assert chapter.material.verdict in body
    assert "largest exponent" in body


def test_twenty_recordings_stay_below_25_megabytes(book):
    assert len(of_twenty(book)) < 25e6


@pytest.mark.parametrize("odd", ["</script><img src=x onerror=alert(1)>", "<!--<script>"])
def test_names_cannot_leave_their_place(book, odd):
    first = book.chapters[0]
    drawn = replace(first.drawn, columns=(odd, *first.drawn.columns[1:]))
    chapters = [replace(first, name=odd, drawn=drawn, material=replace(first.material, title=odd))]
    made = without_plotly(page(replace(book, title=odd, chapters=chapters, network=None)))
    assert "<img" not in made
    assert "<!--" not in made
    assert made.count("</script>") == made.count("<script")
    found = re.findall(r'<script type="application/json">(.*?)</script>', made, re.S)
    assert any(odd in json.dumps(json.loads(one), ensure_ascii=False) for one in found)


def test_who_feeds_whom_is_drawn_where_somebody_does(book):
    network = create(6, 3, 2, np.random.default_rng(0))
    nothing = np.zeros((1, 0), np.float32)
    parts = {
        "a": np.zeros(1, np.float32),
        "W": np.zeros((1, 1), np.float32),
        "C": nothing,
        "h": np.zeros(1, np.float32),
    }
    network = commit(network, np.array([0]), np.array([0]), {**parts, "V": nothing}, np.array([], np.int64))
    fed = {**parts, "V": np.full((1, 1), 0.5, np.float32)}
    network = commit(network, np.array([1]), np.array([1]), fed, np.array([0]))
    two = replace(book, chapters=book.chapters[:2], network=network)
    assert feeding(two).data[0]["z"] == [[None, None], [0.5, None]]
    assert [figure.kind for figure in of_book(two)] == ["ledger", "feeding"]
    assert [figure.kind for figure in of_book(book)] == ["ledger"]


@pytest.mark.parametrize(("value", "how"), [(np.nan, "runs away"), (1e6, "runs away"), (0.0, "stands still")])
def test_a_network_of_which_nothing_would_be_seen_says_so_instead_of_an_empty_picture(book, value, how):
    chapter = book.chapters[1]
    assert chapter.drawn
    gone = replace(chapter, drawn=replace(chapter.drawn, rollout=np.full_like(chapter.drawn.rollout, value)))
    assert f"{how}: there is no rollout to show" in page(replace(book, chapters=[gone], network=None))


def test_importing_crug_does_not_import_plotly():
    code = "import sys, crug, crug.cli.commands\nfor name in dir(crug): getattr(crug, name)\n"
    code += "assert 'plotly' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def waited(driver, condition: str, seconds: float = 30) -> bool:
    """Until a condition of the page holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if driver.execute_script(f"return Boolean({condition})"):
            return True
        time.sleep(0.2)
    return False


def scene(driver, number: int) -> None:
    """The scenes of a recording come into view, and are drawn."""
    driver.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        f"document.querySelectorAll('[data-twin=lorenz]')[{number}].scrollIntoView({{block: 'center'}})"
    )
    assert waited(driver, "[...document.querySelectorAll('[data-twin=lorenz]')].every(p => p.querySelector('canvas'))")
    time.sleep(1)


def colours(driver, number: int) -> int:
    """How many different colours a scene shows."""
    from PIL import Image

    plots = driver.find_elements("css selector", "[data-twin=lorenz]")
    with Image.open(io.BytesIO(plots[number].screenshot_as_png)) as image:
        return len(image.convert("RGB").getcolors(1 << 24) or [])


EYES = "[...document.querySelectorAll('[data-twin=lorenz]')].map(p => p._fullLayout.scene.camera.eye)"


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_a_browser_draws_it_turns_it_and_asks_nobody(file):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    with browser() as driver:
        driver.get(file.as_uri())
        assert waited(driver, "document.querySelector('.plot .main-svg')")
        scene(driver, 0)
        assert min(colours(driver, 0), colours(driver, 1)) > 100

        # turning one turns its twin, by mouse and by keys
        first, second = driver.find_elements("css selector", "[data-twin=lorenz]")
        before = driver.execute_script(f"return {EYES}")
        ActionChains(driver).move_to_element(first).click_and_hold().move_by_offset(60, 20).release().perform()
        assert waited(driver, f"Math.abs({EYES}[1].x - ({before[1]['x']})) > 0.05")
        time.sleep(1)
        turned = driver.execute_script(f"return {EYES}")
        assert turned[0] == pytest.approx(turned[1], abs=0.02)
        driver.execute_script("arguments[0].focus()", second)
        ActionChains(driver).send_keys(Keys.ARROW_LEFT).perform()
        assert waited(driver, f"Math.abs({EYES}[0].x - ({turned[0]['x']})) > 0.02")

        # dark, and narrow
        light = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        driver.find_element("id", "theme").click()
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") != light
        narrow = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
        time.sleep(1)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 400
        scene(driver, 1)
        assert colours(driver, 1) > 100

        assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
        asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        sent = [m["params"] for m in asked if m["method"] == "Network.requestWillBeSent"]
        urls = {one["request"]["url"] for one in sent if not one["documentURL"].startswith("chrome:")}  # its first tab
        assert {url.partition(":")[0] for url in urls} <= {"file", "data", "blob"}
        assert [url for url in urls if url.startswith("file")] == [file.as_uri()]


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_a_page_of_twenty_recordings_opens_within_three_seconds(book, tmp_path):
    """As much time as the page itself takes, whatever else the machine does meanwhile."""
    (tmp_path / "twenty.html").write_text(of_twenty(book))
    with browser() as driver:
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        driver.get((tmp_path / "twenty.html").as_uri())
        assert waited(driver, "document.querySelector('.plot .main-svg')")
        spent = {one["name"]: one["value"] for one in driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
        assert 0 < spent["TaskDuration"] < 3


def test_a_page_is_written_whole(book, tmp_path):
    assert write_page(replace(book, chapters=[]), tmp_path / "p.html").read_text().startswith("<!doctype html>")
