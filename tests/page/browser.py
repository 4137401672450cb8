"""A browser without a screen, for tests: Debian's chromium, or none."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update "
    "disable-sync disable-dev-shm-usage enable-unsafe-swiftshader"
)


def missing() -> str:
    """Why there is no browser; nothing where there is one."""
    if CHROMIUM is None or DRIVER is None:
        return "there is no chromium with its driver (Debian: apt-get install chromium chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return ""


@contextmanager
def browser() -> Iterator[Any]:
    """A fresh one, with the log of its console and of all that it asks for."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        for flag in FLAGS.split():
            options.add_argument(f"--{flag}")
        options.add_argument(f"--user-data-dir={profile}")
        options.add_argument("--window-size=1200,1000")
        options.binary_location = str(CHROMIUM)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        try:
            yield driver
        finally:
            driver.quit()
