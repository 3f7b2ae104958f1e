"""The many ways in which READMEs show one and the same command; each must be found, and nothing else."""

from __future__ import annotations

import json

import pytest

from benchwright.curation.commands import Command, commands_in, invocation_of, read_shell
from benchwright.curation.documents import read_document

COMMAND = "python fit.py --rate 0.1"


def commands_of(name: str, text: str) -> list[Command]:
    """All commands in all blocks of a document."""
    return [
        command
        for block in read_document(name, text.encode()).blocks
        for command in commands_in(block.text, block.language, tag=block.tag, first_line=block.start_line).commands
    ]


@pytest.mark.parametrize(
    "tag",
    [
        *("text", "txt", "plaintext", "none", "Terminal", "powershell", "ps1", "bat", "cmd", "Bash/Shell", "BASH"),
        *("train the model", "usage", "example", "run", "console?", "{code-block} bash", 'bash title="fit"'),
        *(
            "bash {linenos=table}",
            "{bash, eval=FALSE}",
            "{python}",
            "c++",
            "vim",
            "makefile",
            "python-repl",
            "sh fit.sh",
        ),
    ],
)
def test_a_command_is_found_whatever_tag_its_fence_has(tag: str) -> None:
    assert [c.text for c in commands_of("README.md", f"# Fit\n\n```{tag}\n{COMMAND}\n```\n")] == [COMMAND]


@pytest.mark.parametrize(
    "text",
    [
        "```output\npython fit.py --rate 0.1\n```",
        "```yaml\nrun: python fit.py --rate 0.1\n```",
        "```text\n|-- fit.py\n`-- score.py --rate\n```",
        "```text\nEpoch 1 of python fit.py took 3 s\n```",
        "Look into `fit.py`, or at fit.py vs. score.py for what changed.",
        "python fit.py is the script that does all of the work here.\n",
        "The python code in fit.py was rewritten.",
    ],
)
def test_what_is_no_command_is_left_alone(text: str) -> None:
    found = [command.text for command in commands_of("README.md", f"# Fit\n\n{text}\n")]
    assert [text for text in found if "--rate" in text or "vs." in text or "is the" in text] == []


MARKDOWN = {
    "tabs of a documentation tool": '=== "Linux"\n\n    ```bash\n    {}\n    ```\n',
    "an admonition": "!!! note\n    Run this:\n\n    ```bash\n    {}\n    ```\n",
    "a tag in the first line": "    :::bash\n    {}\n",
    "a template's highlighting": "{% highlight bash %}\n{}\n{% endhighlight %}\n",
    "details without blank lines": "<details><summary>Run</summary>\n```bash\n{}\n```\n</details>\n",
    "pre in a table cell": "<table><tr><td>Fit</td><td><pre>\n{}\n</pre></td></tr></table>\n",
    "code in an HTML paragraph": "<p>Run <code>{}</code> now</p>\n",
    "code in HTML within Markdown": "Run <code>{}</code> now\n",
    "a cell of a table": "| step | command |\n|---|---|\n| Fit | `{}` |\n",
    "a heading": "## `{}`\n\nFits.\n",
    "a sentence": "To fit, run {} and wait.\n",
    "a line of its own": "Fit:\n\n{}\n\nDone.\n",
    "a line with a prompt": "$ {}\n",
    "an item of a list": "- {}\n- later\n",
    "bold print": "**{}**\n",
    "code with a prompt": "Run `$ {}`.\n",
    "a fence of two backticks": "``bash\n{}\n``\n",
    "a fence that never ends": "```bash\n{}\n",
    "a list that is indented too little": "1. Fit\n  ```bash\n  {}\n  ```\n2. x\n",
}


@pytest.mark.parametrize("form", MARKDOWN)
def test_a_command_is_found_in_each_form_of_markdown(form: str) -> None:
    text = "# Fit\n\n" + MARKDOWN[form].replace("{}", COMMAND)
    (command,) = commands_of("README.md", text)
    assert command.text == COMMAND
    assert COMMAND in text.split("\n")[command.start_line - 1]


RST = {
    "a code block": ".. code-block:: bash\n   :caption: Fit\n   :emphasize-lines: 1\n\n   {}\n",
    "tabs": ".. tabs::\n\n   .. tab:: Linux\n\n      .. code-block:: bash\n\n         {}\n",
    "tabs of another tool": ".. tab-set::\n\n   .. tab-item:: A\n      :sync: l\n\n      .. code:: sh\n\n         {}\n",
    "a drop-down": ".. dropdown:: More\n\n   .. code-block:: bash\n\n      {}\n",
    "a prompt directive": ".. prompt:: bash $\n\n   {}\n",
    "a console": ".. code-block:: console\n\n   $ {}\n   loss 1\n",
    "a literal": "Run ``{}`` now.\n",
    "a role": "Run :command:`{}` now.\n",
}


@pytest.mark.parametrize("form", RST)
def test_a_command_is_found_in_each_form_of_restructured_text(form: str) -> None:
    text = "Fit\n===\n\n" + RST[form].replace("{}", COMMAND)
    document = read_document("README.rst", text.encode())
    (command,) = commands_of("README.rst", text)
    assert command.text == COMMAND
    assert COMMAND in text.split("\n")[command.start_line - 1]
    assert [heading.title for heading in document.headings] == ["Fit"]


@pytest.mark.parametrize(
    "source",
    [
        [f"!{COMMAND}"],
        ["import os\n", f"!{COMMAND}\n", "os.getcwd()"],
        ["!python fit.py \\\n", "  --rate 0.1"],
        ["%%bash\n", COMMAND],
        ["%%script bash\n", COMMAND],
        ["%run fit.py --rate 0.1"],
    ],
)
def test_a_command_is_found_in_each_form_of_notebook_cell(source: list[str]) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "source": source, "outputs": []}]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (command,) = commands_of("README.ipynb", text)
    assert command.argv[-3:] == ("fit.py", "--rate", "0.1")


@pytest.mark.parametrize("name", ["README.mdx", "README.org", "README.adoc", "README.zh-CN.md", "ReadMe.MD", "README"])
def test_readmes_of_other_formats_are_read_as_far_as_they_go(name: str) -> None:
    assert [command.text for command in commands_of(name, f"Fit\n\n{COMMAND}\n")] == [COMMAND]


@pytest.mark.parametrize(
    "value", ["${7*7}", "{{rate}}", "{{ rate }}", "${{ matrix.rate }}", "$((1+2))", "`cat rate`", "${RATE:-1}"]
)
def test_a_value_that_only_a_template_or_a_run_would_set_stays_in_its_command(value: str) -> None:
    (command,) = read_shell(f"python fit.py --rate {value} --seed 1").commands
    assert command.argv == ("python", "fit.py", "--rate", value, "--seed", "1")
    assert command.source == f"python fit.py --rate {value} --seed 1"


@pytest.mark.parametrize(
    "prompt",
    [
        *("$ ", "% ", "> ", "$", "!", "PS C:\\> ", "C:\\work> ", "(base) ➜  fit git:(main) ✗ ", "λ ", "❯ "),
        *("~/fit$ ", "bash-4.2$ ", "[me@box fit]$ ", "root@0ab1:/work# ", "In [1]: !", "(env) me@box:~$ "),
    ],
)
def test_a_prompt_is_no_part_of_the_command(prompt: str) -> None:
    assert [c.text for c in commands_of("README.md", f"```\n{prompt}{COMMAND}\n```\n")] == [COMMAND]


@pytest.mark.parametrize("sign", ["\\", "^", "`"])
def test_lines_are_continued_as_each_shell_does_it(sign: str) -> None:
    (command,) = read_shell(f"python fit.py {sign}\n  --rate 0.1").commands
    assert command.argv == ("python", "fit.py", "--rate", "0.1")


@pytest.mark.parametrize(
    "launcher",
    [
        *("docker run --rm -it image python", "singularity exec --nv x.sif python3", "ray job submit -- python"),
        *("nsys profile -o x python", "rye run python", "qsub -b y python", "salloc -N1 srun python"),
        *("lightning run model", "colossalai run --nproc_per_node 1", "gradio", "kernprof -l", "modal run", "uv run"),
        *("${PYTHON:-python}", "Python", "streamlit run", "coverage run", "accelerate launch --multi_gpu"),
    ],
)
def test_a_launcher_is_seen_through(launcher: str) -> None:
    (command,) = read_shell(f"{launcher} fit.py --rate 0.1").commands
    found = invocation_of(command.argv, command.static)
    assert found is not None
    assert (found.kind, found.target, found.args) == ("file", "fit.py", ("--rate", "0.1"))


@pytest.mark.parametrize("text", ["echo python fit.py", "vim fit.py", "cat fit.py", "which python fit.py"])
def test_what_only_names_a_script_starts_nothing(text: str) -> None:
    (command,) = read_shell(text).commands
    found = invocation_of(command.argv, command.static)
    assert found is not None
    assert found.kind == "program"
