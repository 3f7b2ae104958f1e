"""A person at the annotation form, in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
VIEW = {"width": 1440, "height": 900}
TEXTS = ("instruction", "arguments", "script", "prefix_code", "reason")


@pytest.fixture
def chromium() -> Iterator[Any]:
    """A running browser (with CI=true its absence is a failure, else the way to get it is named)."""
    program = shutil.which("chromium")
    if program is None:
        message = "there is no chromium: apt-get install chromium fonts-dejavu-core"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS.split())
        try:
            yield browser
        finally:
            browser.close()


class Person:
    """One annotator with a browser window of their own."""

    def __init__(self, browser: Any, url: str, email: str, password: str, pictures: Path) -> None:
        self._pictures, self._url = pictures, url
        self.page = browser.new_context(viewport=VIEW).new_page()
        self.page.set_default_timeout(30_000)
        self.page.goto(f"{url}/user/login/")
        self.page.fill("input[name=email]", email)
        self.page.fill("input[name=password]", password)
        self.page.click("button[type=submit]")
        self.page.wait_for_url(f"{url}/")

    def start(self, project: int) -> None:
        """Open the project, press Label All Tasks, read the instructions and close them."""
        self.page.goto(f"{self._url}/projects/{project}/data")
        self.page.get_by_text("Label All Tasks").click()
        self.page.get_by_text("Labeling Instructions").wait_for()
        self.page.keyboard.press("Escape")
        self.page.get_by_text("Labeling Instructions").wait_for(state="hidden")
        self.page.get_by_text("8. Verdict").wait_for()

    @property
    def title(self) -> str:
        """The heading of the task in sight: repository and entry point."""
        return str(self.page.locator(".bw-source h3").first.inner_text())

    def text(self, field: str) -> Any:
        """The box of a text field."""
        return self.page.locator(f"textarea[name^='out_{field}:']")

    def write(self, field: str, text: str) -> None:
        """Replace the text of a field and leave it, as a person does who pastes and presses Tab."""
        box = self.text(field)
        box.fill(text)
        box.press("Tab")

    def choose(self, *words: str) -> None:
        """Choose what bears these words in the form."""
        for word in words:
            choice = self.page.locator(".bw-answer .lsf-choice__checkbox", has_text=re.compile(rf"^{word}(\W|$)"))
            choice.first.click()

    @property
    def live(self) -> str:
        """What the form shows of the script's run."""
        return str(self.page.locator(".bw-live").inner_text())

    def wait_for_live(self, word: str, within_s: float) -> None:
        """Wait until the shown run says ``word``."""
        self.page.locator(".bw-live").get_by_text(word).first.wait_for(timeout=within_s * 1000)

    def submit(self) -> None:
        self._leave("Submit")

    def skip(self) -> None:
        self._leave("Skip")

    def _leave(self, button: str) -> None:
        """Press a button that stores an annotation, and wait until the server has it and the task has gone."""
        before = self.page.locator(".lsf-current-task__task-id").inner_text()
        with self.page.expect_response(lambda r: r.request.method == "POST" and "/annotations" in r.url) as stored:
            self.page.locator("button", has_text=button).first.click()
        assert stored.value.status == 201, stored.value.text()
        gone = "before => document.querySelector('.lsf-current-task__task-id')?.innerText !== before"
        self.page.wait_for_function(gone, arg=before)

    @property
    def finished(self) -> bool:
        """True where the stream has no further task."""
        self.page.wait_for_timeout(500)
        return bool(self.page.locator(".bw-source").count() == 0)

    def picture(self, name: str, height: int = VIEW["height"]) -> None:
        """What is in sight in a window of this height, as ``NAME.png``."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        self.page.set_viewport_size({**VIEW, "height": height})
        self.page.get_by_text("Annotation saved successfully").wait_for(state="hidden")
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=self._pictures / f"{name}.png")
        self.page.set_viewport_size(VIEW)
