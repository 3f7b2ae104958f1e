"""Prompts: what each setting gives the model, cut where it says, and tokens counted without a tokenizer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.export.dataset import Dataset, open_dataset
from benchwright.export.evaluation.prompts import SETTINGS, Prompts
from benchwright.export.evaluation.tokens import LONGEST, count_tokens, cut_at

TEXTS = {
    "prose": "The kettle boils when the water in it is hot enough, and whistles so that nobody forgets it. " * 40,
    "code": "def boil_water(litres: float, *, maxTemperature=100) -> None:\n    kettle.heat(litres * 4_186)\n" * 40,
    "digits": "3.14159 2718281828 1000000007\n" * 40,
    "white space": " \t\n" * 500 + " " * 999 + "\n" * 999,
    "other scripts": "水を沸かす。Чайник кипит. ½ ² ٣\n" * 40,
    "signs": "=" * 700 + "____" * 100 + "«»…—" * 100,
    "base64": "aGVsbG8gd29ybGQK" * 200,
}


@pytest.fixture
def source(tmp_path: Path) -> tuple[str, str]:
    """A mirror template and the commit of a repository with a README, many modules and bytes that are no text."""
    work = tmp_path / "git" / "o+kettle"
    (work / "src").mkdir(parents=True)
    (work / "src" / "README.txt").write_text("The source of the kettle lies here.\n")
    (work / "README.md").write_text("# Kettle\n\nPlease train the kettle for three epochs with `python boil.py`.\n")
    for number in range(30):
        (work / "src" / f"part{number:02}.py").write_text(
            f"# Part {number} holds water. It is hot.\ndef part{number}(water):\n    return water\n"
        )
    (work / "blob.bin").write_bytes(b"\xff\xfe\x00\x80")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@e", "commit", "-qm", "1"]):
        subprocess.run(["git", "-C", str(work), *command], check=True)
    commit = subprocess.run(["git", "-C", str(work), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return f"file://{tmp_path}/git/{{owner}}+{{name}}", commit.stdout.strip()


@pytest.fixture
def dataset(make_row: Callable[..., dict[str, Any]], write_rows: Callable[..., Path], source: Any) -> Dataset:
    rows = [make_row(number, github="https://github.com/o/kettle", commit=source[1]) for number in (1, 2)]
    rows[1]["prefix_code"] = "export STOVE=gas"
    return open_dataset(str(write_rows(rows)))


def prompts(dataset: Dataset, setting: str, source: tuple[str, str], tokens: int = 20_000) -> Prompts:
    return Prompts(dataset, list(dataset.rows("full")), setting, tokens, [source[0]])


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_asks_the_instruction_and_says_what_kind_of_answer_is_wanted(
    dataset: Dataset, source: tuple[str, str], setting: str
) -> None:
    first, second = dataset.rows("full")
    made = prompts(dataset, setting, source)
    assert first.instruction in made.of(first).text
    assert "`bash` block" in made.of(first).text
    assert "export STOVE=gas" in made.of(second).text
    assert made.of(first).messages == [{"role": "user", "content": made.of(first).text}]


def test_the_settings_give_what_their_names_say(dataset: Dataset, source: tuple[str, str]) -> None:
    row = next(iter(dataset.rows("full")))
    text = {setting: prompts(dataset, setting, source).of(row).text for setting in SETTINGS}
    assert "python train.py --lr 0.1" in text["oracle"]
    assert "python boil.py" in text["retrieval"]
    assert "part29" not in text["retrieval"]
    assert "python train.py" not in text["none"]
    assert "part29" in text["code"]
    assert row.output not in "".join(text.values())


def test_the_code_setting_puts_readmes_first_and_leaves_out_what_is_no_text(
    dataset: Dataset, source: tuple[str, str]
) -> None:
    text = prompts(dataset, "code", source).of(next(iter(dataset.rows("full")))).text
    places = [text.index(f"=== {path} ===") for path in ("README.md", "src/README.txt", "src/part00.py")]
    assert places == sorted(places)
    assert "blob.bin" not in text


def test_the_code_setting_is_cut_at_the_tokens_it_is_told(dataset: Dataset, source: tuple[str, str]) -> None:
    row = next(iter(dataset.rows("full")))
    bare = prompts(dataset, "none", source).of(row).tokens
    for tokens in (50, 200, 400):
        counted = prompts(dataset, "code", source, tokens).of(row).tokens - bare
        assert tokens - 5 <= counted <= tokens + 20  # the title and the fence around the files
    assert prompts(dataset, "code", source, 10**6).of(row).text == prompts(dataset, "code", source, 10**5).of(row).text


def test_two_examples_of_one_repository_differ_in_their_prompts_digest(
    dataset: Dataset, source: tuple[str, str]
) -> None:
    first, second = (prompts(dataset, "oracle", source).of(row) for row in dataset.rows("full"))
    assert first.digest != second.digest
    assert first.digest == prompts(dataset, "oracle", source).of(first.row).digest


def test_a_repository_that_cannot_be_had_is_named(dataset: Dataset, tmp_path: Path) -> None:
    row = next(iter(dataset.rows("full")))
    nowhere = Prompts(dataset, [row], "code", 100, [f"file://{tmp_path}/nowhere/{{name}}"])
    with pytest.raises(BenchwrightError, match="kettle"):
        nowhere.of(row)


# tokens ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_cut_text_has_the_tokens_asked_for_and_not_one_more(text: str) -> None:
    whole = count_tokens(text)
    for tokens in (0, 1, 10, whole // 2):
        cut = cut_at(text, tokens)
        assert text.startswith(cut)
        assert tokens - 2 <= count_tokens(cut) <= tokens
    assert cut_at(text, whole) == text
    assert cut_at("", 0) == ""


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_text_is_counted_as_fewer_tokens_than_the_longest_pieces_it_could_have(text: str) -> None:
    assert count_tokens(text) >= len(text) / LONGEST


@pytest.mark.parametrize(
    ("name", "real"),
    [("prose", 881), ("code", 1240), ("digits", 600), ("other scripts", 880), ("signs", 419), ("base64", 2001)],
)
def test_the_estimate_is_near_what_the_tokenizer_cl100k_base_counts(name: str, real: int) -> None:
    assert count_tokens(TEXTS[name]) == pytest.approx(real, rel=0.18)
