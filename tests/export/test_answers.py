# ruff: noqa: E501 - a case stands on one line
"""Each case is an answer as a model might write it, and what must be found in it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from benchwright.export.evaluation.answers import extract, language_of

CASES = Path(__file__).parents[3] / "shared" / "cases"
BASH, PYTHON = "Bash Script", "Python Code"
RUN = "python train.py --lr 0.1"


def fence(code, language="", marks="```"):
    return f"{marks}{language}\n{code}\n{marks}"


FOUND = {
    "a tagged block": (BASH, f"Use this:\n\n{fence(RUN, 'bash')}\nGood luck!", f"{RUN}\n"),
    "an untagged block": (BASH, f"Use this:\n{fence(RUN)}", f"{RUN}\n"),
    "tildes": (BASH, fence(RUN, "sh", "~~~"), f"{RUN}\n"),
    "a tag with attributes": (BASH, fence(RUN, 'bash title="run.sh"'), f"{RUN}\n"),
    "a tag in capitals": (PYTHON, fence("print(1)", "Python"), "print(1)\n"),
    "a tag in braces": (PYTHON, fence("print(1)", "{.python}"), "print(1)\n"),
    "the last of the language": (PYTHON, f"{fence('print(1)', 'python')}\nBetter:\n{fence('print(2)', 'python')}", "print(2)\n"),
    "never the sample output": (PYTHON, f"{fence('print(2)', 'python')}\nprints\n{fence('2')}", "print(2)\n"),
    "never the install line": (PYTHON, f"{fence('pip install x', 'bash')}\n{fence('print(2)', 'python')}", "print(2)\n"),
    "an install block before the command": (BASH, f"{fence('pip install x', 'bash')}\n{fence(RUN, 'bash')}", f"{RUN}\n"),
    "steps in order": (BASH, f"{fence('cd sub', 'bash')}\nthen\n{fence(RUN, 'bash')}", f"cd sub\n{RUN}\n"),
    "two scripts in order": (BASH, f"{fence('python prepare.py', 'bash')}\n{fence(RUN, 'bash')}", f"python prepare.py\n{RUN}\n"),
    "a correction replaces the draft": (BASH, f"{fence('python train.py --lr 1', 'bash')}\nNo:\n{fence(RUN, 'bash')}", f"{RUN}\n"),
    "a console session": (BASH, fence(f"$ {RUN}\nepoch 1\nepoch 2", "console"), f"{RUN}\n"),
    "a continued console line": (BASH, fence("$ python train.py \\\n>   --lr 0.1\ndone", "console"), "python train.py \\\n  --lr 0.1\n"),
    "a shell command tagged as Python": (BASH, fence(RUN, "python"), f"{RUN}\n"),
    "an unclosed block": (PYTHON, "Sure:\n```python\nprint(1)\nprint(2)", "print(1)\nprint(2)\n"),
    "an unclosed draft": (PYTHON, "```python\nprint(\n\nFixed:\n```python\nprint(2)\n```", "print(2)\n"),
    "a fence in a fence": (PYTHON, f"````markdown\nRead:\n{fence('print(3)', 'python')}\n````", "print(3)\n"),
    "a fence in an equal fence": (PYTHON, f"```markdown\nRead:\n{fence('print(3)', 'python')}\n```", "print(3)\n"),
    "a fence inside a string": (PYTHON, fence('text = """\n```bash\nls\n```\n"""\nprint(text)', "python"), 'text = """\n```bash\nls\n```\n"""\nprint(text)\n'),
    "a fence in a list": (BASH, f"1. Run\n\n   ```bash\n   {RUN}\n   ```\n2. Wait", f"{RUN}\n"),
    "a fence in a quotation": (BASH, f"> ```bash\n> {RUN}\n> ```", f"{RUN}\n"),
    "a bare command": (BASH, RUN, RUN),
    "a bare command with white space": (BASH, f" {RUN} \n", f" {RUN} \n"),
    "a bare command behind a prompt": (BASH, f"$ {RUN}", f"{RUN}\n"),
    "a command between prose": (BASH, f"You can run the following command:\n\n{RUN}\n\nThis trains the model.", f"{RUN}\n"),
    "a continued command between prose": (BASH, "Run this:\npython train.py \\\n  --lr 0.1 \\\n  --epochs 3\nIt takes an hour.", "python train.py \\\n  --lr 0.1 \\\n  --epochs 3\n"),
    "an inline command": (BASH, f"Just call `{RUN}` in the root folder.", f"{RUN}\n"),
    "a variable before the command": (BASH, f"CUDA_VISIBLE_DEVICES=0 {RUN}", f"CUDA_VISIBLE_DEVICES=0 {RUN}"),
    "a here-document": (BASH, "python3 - <<'END'\nimport os\nprint(os.name)\nEND\n", "python3 - <<'END'\nimport os\nprint(os.name)\nEND\n"),
    "a loop": (BASH, "for i in 1 2; do\n  python train.py --seed $i\ndone", "for i in 1 2; do\n  python train.py --seed $i\ndone"),
    "bare Python": (PYTHON, "import kettle\nkettle.boil(3)\n", "import kettle\nkettle.boil(3)\n"),
    "bare Python that does not parse": (PYTHON, "import kettle\nkettle.boil(3\n", "import kettle\nkettle.boil(3\n"),
    "Python between prose": (PYTHON, "Here is the snippet you wanted:\n\nimport kettle\nkettle.boil(3)\n\nIt boils three litres.", "import kettle\nkettle.boil(3)\n"),
    "an interactive session": (PYTHON, fence(">>> import kettle\n>>> for i in (1, 2):\n...     kettle.boil(i)\n...\n'hot'", "pycon"), "import kettle\nfor i in (1, 2):\n    kettle.boil(i)\n"),
    "a notebook's install line": (PYTHON, fence("!pip install kettle\nimport kettle\nkettle.boil(1)", "python"), "import kettle\nkettle.boil(1)\n"),
    "Windows line ends": (BASH, f"Use:\r\n```bash\r\ncd a\r\n{RUN}\r\n```\r\n", f"cd a\n{RUN}\n"),
    "a byte order mark": (PYTHON, "\ufeffimport kettle\n", "import kettle\n"),
    "reasoning with a draft": (BASH, f"<think>\nPerhaps\n{fence('python wrong.py', 'bash')}\n</think>\n{fence(RUN, 'bash')}", f"{RUN}\n"),
    "reasoning whose start is missing": (BASH, f"Hm.\n{fence('python wrong.py', 'bash')}\n</think>\n\n{RUN}", f"\n\n{RUN}"),
    "reasoning with an unclosed draft": (PYTHON, "<think>\n```python\nprint('draft')\n</think>\n```python\nprint('right')\n```", "print('right')\n"),
    "reasoning in brackets": (BASH, f"[THINK]python wrong.py[/THINK]{RUN}", RUN),
    "reasoning in channels": (BASH, f"<|channel|>analysis<|message|>python wrong.py<|end|><|start|>assistant<|channel|>final<|message|>{RUN}<|return|>", RUN),
    "a tag as a string": (PYTHON, "parts = text().split('</think>')\nprint(parts[-1])\n", "parts = text().split('</think>')\nprint(parts[-1])\n"),
    "a tag as a string in a block": (PYTHON, fence("open_tag = '<think>'\nprint(open_tag)", "python"), "open_tag = '<think>'\nprint(open_tag)\n"),
    "a command that hides its failure": (BASH, "python3 nope.py --lr 1 ; true", "python3 nope.py --lr 1 ; true"),
    "a command behind another prompt": (BASH, f"% {RUN}", f"{RUN}\n"),
    "a command in a list": (BASH, f"Steps:\n1. cd sub\n2. {RUN}", f"cd sub\n{RUN}\n"),
    "a command with a label": (BASH, f"Answer: {RUN}", f"{RUN}\n"),
    "a command in bold": (BASH, f"**{RUN}**", f"{RUN}\n"),
    "a command after its language": (BASH, f"bash\n{RUN}", RUN),
    "a fence in one line": (BASH, f"Sure! ```bash {RUN}```", f"{RUN}\n"),
    "a fence in one line without a tag": (BASH, f"```{RUN}```", f"{RUN}\n"),
    "a notebook cell of commands": (BASH, fence(f"%cd sub\n!{RUN}", "python"), f"cd sub\n{RUN}\n"),
    "an HTML block": (BASH, '<pre><code class="language-bash">python a.py &amp;&amp; python b.py\n</code></pre>', "python a.py && python b.py\n"),
    "an answer in tags": (BASH, f"<answer>{RUN}</answer>", f"{RUN}\n"),
    "Python in tags": (PYTHON, "Well.\n<python>\nimport kettle\nkettle.boil(1)\n</python>", "import kettle\nkettle.boil(1)\n"),
    "a script without a launcher": (BASH, "train.py --lr 0.1", "train.py --lr 0.1"),
    "a sample output tagged as Python": (PYTHON, f"{fence('import kettle', 'python')}\nOutput:\n{fence('tensor([1.])', 'python')}", "import kettle\n"),
    "a value tagged as Python": (PYTHON, f"{fence('import kettle', 'python')}\nand\n{fence('1.0', 'python')}", "import kettle\n"),
    "tags in a string": (PYTHON, "page = '<code>ls</code>'\nprint(page)", "page = '<code>ls</code>'\nprint(page)"),
    "a line that begins with nothing visible": (PYTHON, "\u200bimport kettle\nkettle.boil(1)", "import kettle\nkettle.boil(1)"),
    "a script with a short name": (BASH, "python a.py", "python a.py"),
    "a sleeper": (BASH, "sleep 30 # x.py ", "sleep 30 # x.py "),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_the_code_is_found(name):
    task_type, answer, code = FOUND[name]
    found = extract(answer, task_type)
    assert found.code is not None, found
    assert found.code.strip("\n") == code.strip("\n"), found
    if name.startswith("a bare"):
        assert found.code.rstrip("\n") == code.rstrip("\n")


NOTHING = {
    "nothing": ("", "empty"),
    "white space": (" \n\t", "empty"),
    "a refusal": ("I'm sorry, but I cannot help with running that.", "refusal"),
    "prose": ("The learning rate should be chosen with care.", "no_code"),
    "one word": ("Done", "no_code"),
    "prose about Python": ("python is a language and bash is a shell", "no_code"),
    "reasoning that never ended": (f"<think>\nSo I try\n{fence(RUN, 'bash')}\nand then", "reasoning_never_ended"),
    "reasoning without an answer": ("<think>done</think>\n", "empty"),
    "a lone surrogate": (f"{RUN} --name \ud800", "not_text"),
}


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("task_type", [BASH, PYTHON])
def test_where_there_is_no_code_the_reason_is_said(name, task_type):
    answer, rule = NOTHING[name]
    found = extract(answer, task_type)
    assert (found.code, found.rule) == (None, rule)


@pytest.mark.parametrize(
    ("task_type", "answer"),
    [
        (PYTHON, fence(RUN, "bash")),
        (PYTHON, RUN),
        (BASH, fence("import kettle\nkettle.boil(1)", "python")),
        (BASH, "import kettle\nkettle.boil(1)"),
    ],
)
def test_code_of_the_other_language_is_given_and_named(task_type, answer):
    found = extract(answer, task_type)
    assert found.code is not None
    assert language_of(found.code) == ("shell" if task_type == PYTHON else "python")


def test_what_was_left_out_is_said():
    answer = f"{fence('print(1)', 'python')}\n{fence('print(2)', 'python')}"
    found = extract(answer, PYTHON)
    assert (found.rule, found.detail) == ("last_python_block", "1 earlier blocks left out")


HOSTILE = {
    "fences without line ends": "```" * 20_000,
    "marks": "`" * 50_000,
    "opening tags": "<think>" * 5_000,
    "many thoughts": "<think>\n</think>\n" * 5_000,
    "brackets": "(" * 50_000,
    "code that never parses": "x = 1\n" * 5_000 + "(",
    "quotations": "> " * 20_000,
    "quotations without spaces": ">" * 20_000 + "```",
    "openers": "```python\n" * 20_000,
    "documents in documents": "```md\n" * 5_000,
    "blocks": "```bash\npython a.py\n```\n" * 5_000,
    "assignments": "A=1 " * 20_000,
    "options": "python " + "--a 1 " * 10_000,
    "closing tags in blocks": "```\n</think>\n```\n" * 5_000,
    "spaces": " " * 50_000 + "x",
    "prompts": "$ " * 20_000,
    "tags": "<code>" * 20_000,
    "emphasis": "*" * 50_000,
    "labels": "A" * 50_000 + ":",
    "lines of marks": "- " * 20_000,
    "one-line fences": "```a```" * 10_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("task_type", [BASH, PYTHON])
def test_long_and_hostile_answers_end_soon(name, task_type):
    started = time.monotonic()
    extract(HOSTILE[name], task_type)
    assert time.monotonic() - started < 20


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not on this machine")
def test_the_shared_cases():
    for name in ("23-thinking-drafts", "24-which-block"):
        folder = CASES / name
        wanted = json.loads((folder / "expect.json").read_text())
        for file, expected in wanted["answers"].items():
            kind = wanted.get("task_type") or expected["task_type"]
            found = extract((folder / file).read_text(), BASH if kind == "bash" else PYTHON)
            if isinstance(expected, str):
                assert found.code == (folder / expected).read_text()
            elif "code" in expected:
                assert found.code == expected["code"]
            elif "must_contain" in expected:
                assert expected["must_contain"] in (found.code or "")
                assert expected["must_not_contain"] not in (found.code or "")
            elif "status" in expected:
                assert found.code is None
            else:
                space: dict[str, object] = {}
                exec(found.code or "", space)
                assert space["trim"](1.25) == 0.25  # type: ignore[operator]
