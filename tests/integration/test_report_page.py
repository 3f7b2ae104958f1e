"""The report of an evaluation in a real browser: light and dark, by keyboard, 260 examples of 5 samples."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.progress import Reporter
from benchwright.export import open_dataset
from benchwright.export.evaluation import Options, evaluate
from benchwright.export.evaluation.page import html_page
from benchwright.export.evaluation.runs import open_run

from .browser import chromium

__all__ = ["chromium"]

pytestmark = pytest.mark.integration

EXAMPLES, SAMPLES = 260, 5
OPENS_S = 2.0
ANSWERS = (
    "```bash\npython pour.py --cups {n}\n```",
    "python pour.py --cups 99",
    "I'm sorry, I cannot.",
    "```python\nprint('{n}')\n```",
    "<b>python</b> pour.py & echo \u4e94\n\tpython pour.py --cups {n}",
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    rows = [
        {
            "github_id": 31, "github": "https://example.org/x/kettle", "repo_id": 1, "path": "./", "id": number,
            "arguments": f"{{'cups': '{number}'}}", "instruction": f"Pour {number} cups.", "type": "Bash Script",
            "oracle": "python pour.py --cups 1", "output": f"python pour.py --cups {number}", "prefix_code": "",
        }
        for number in range(1, EXAMPLES + 1)
    ]  # fmt: skip
    release, predictions = folder / "rows.jsonl", folder / "predictions.jsonl"
    release.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [
        {"github_id": 31, "id": n, "output": [text.replace("{n}", str(n)) for text in ANSWERS]}
        for n in range(1, EXAMPLES + 1)
    ]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    evaluate(open_dataset(str(release)), predictions, Options(execute=False), folder / "run", Reporter(quiet=True))
    path = folder / "report.html"
    path.write_text(html_page([open_run(folder / "run")]))
    return path


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, chromium: Any, page_file: Path) -> Iterator[Any]:
    context = chromium.new_context(color_scheme=request.param, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.problems, opened.asked_for, opened.scheme = [], [], request.param
    opened.on("console", lambda message: opened.problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("request", lambda asked: opened.asked_for.append(asked.url))
    began = time.perf_counter()
    opened.goto(page_file.as_uri())
    opened.get_by_text(f"{EXAMPLES * SAMPLES} of {EXAMPLES * SAMPLES} samples").wait_for()
    opened.took = time.perf_counter() - began
    yield opened
    context.close()


def rows_in_sight(page: Any) -> Any:
    return page.locator("tr.row")


def test_the_report_opens_at_once_asks_for_nothing_and_is_walked_by_keyboard(page: Any, page_file: Path) -> None:
    assert page.took < OPENS_S * 3  # a busy machine; the benchmark's page took 0.5 s alone
    assert page.asked_for == [page_file.as_uri()]
    assert rows_in_sight(page).count() == EXAMPLES * SAMPLES

    row = rows_in_sight(page).nth(1)
    row.focus()
    page.keyboard.press("Enter")
    detail = page.locator("section[tabindex]")
    assert detail.evaluate("node => node === document.activeElement")
    facts = detail.inner_text()
    assert "misuse, by the rule other_value" in facts
    cells = detail.locator("tbody td").all_inner_texts()
    assert cells == ["cups", "1", "99", "refused"]
    close = detail.get_by_role("button", name="Close")
    close.focus()
    page.keyboard.press("Enter")
    assert row.evaluate("node => node === document.activeElement")

    heading = page.locator("th", has_text="sample").last.locator("button")
    heading.focus()
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("sample")
    assert rows_in_sight(page).first.locator("td").nth(2).inner_text() == "0"
    assert page.problems == []


def test_filters_leave_what_they_say_and_hostile_answers_stay_text(page: Any) -> None:
    page.get_by_label("class").select_option("gave_up")
    page.get_by_text(f"{EXAMPLES} of {EXAMPLES * SAMPLES} samples").wait_for()
    assert rows_in_sight(page).count() == EXAMPLES
    page.get_by_label("class").select_option("")
    rows_in_sight(page).nth(4).click()
    answers = page.locator("section[tabindex] pre").all_inner_texts()
    assert ANSWERS[4].replace("{n}", "1") in answers
    assert page.locator("section[tabindex] b").count() == 0


def test_text_stands_out_from_its_ground_in_light_and_dark(page: Any) -> None:
    contrast = """node => {
        const parts = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
          .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        const light = (c) => { const [r, g, b] = parts(c); return .2126 * r + .7152 * g + .0722 * b; };
        const a = light(getComputedStyle(node).color), b = light(getComputedStyle(document.body).backgroundColor);
        return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    }"""
    ground = page.locator("body").evaluate("node => getComputedStyle(node).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (page.scheme == "light")
    for selector in ("h1", "td.failed", "td.none, td.n", "p.soft", "tr.row td"):
        assert page.locator(selector).first.evaluate(contrast) >= 4.5  # WCAG 2.1, level AA
