"""Finding the code in a model's answer: which text is taken, and by which rule.

The rules, in the order they are tried:

1. Reasoning is taken off (``reasoning.py``); reasoning that never ended leaves no answer.
2. Among fenced blocks the type asked for decides. Python: the last block tagged as Python. Bash: the blocks tagged as
   shell, joined in order; a block whose script a later block starts again is a draft and left out. Blocks that only
   install are left out, unless there is nothing else. Prompts of console sessions and their outputs are left out.
3. Without such a block an untagged block that reads as the language asked for: the last for Python, joined for Bash.
4. Without a fence: an inline command (Bash), the whole answer where it is code, else its code between prose.
5. What remains is code of the other language, which is given so that it can be called by its name: wrong type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from .fences import Block, fenced_blocks, marked_blocks, parses
from .reasoning import NeverEndedError, without_reasoning
from .shell import command_lines, entry_points, is_command, is_install, is_python, only_installs, without_prompts

__all__ = ["Extraction", "extract", "is_text", "language_of"]

PYTHON = frozenset({"python", "py", "python2", "python3", "py3", "ipython", "ipython3", "pycon", "jupyter", "sage"})
SHELL = frozenset(
    {"bash", "sh", "shell", "zsh", "console", "shell-session", "shellsession", "sh-session", "terminal", "cmd",
     "commandline", "command", "shellscript", "bash-session", "ksh", "powershell", "bat", "batch"}
)  # fmt: skip
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
REFUSAL = re.compile(
    r"\b(?:I(?:'m| am) sorry|I (?:can(?:no|')t|am unable|am not able|won't)|unable to (?:help|assist|provide|comply)|"
    r"as an AI)\b",
    re.IGNORECASE,
)
INVISIBLE = re.compile("^[\ufeff\u200b\u200c\u2060]+", re.MULTILINE)
"""Characters without width that some models put in front of a line; no code begins with one."""
SAMPLE_OUTPUT = re.compile(
    r"^\W*(?:(?:the|sample|example|expected|your)\s+)*(?:outputs?|results?|(?:you (?:will|should) see|it prints?))"
    r"(?:\s+(?:is|are|will be|should be|looks? like(?: this)?))?\W*$",
    re.IGNORECASE,
)
LANGUAGE_LINE = re.compile(r"\A\s*(?:python3?|py|bash|sh|shell)[ \t]*:?[ \t]*\n(?=\S)", re.IGNORECASE)
CODE_START = re.compile(
    r"^(?:import\s+\w|from\s+[\w.]+\s+import\b|def\s+\w+\s*\(|class\s+\w+|async\s+def|@\w|#|if\s+__name__|with\s+\w|"
    r"for\s+\w+.*:\s*$|try:\s*$|print\s*\(|[A-Za-z_][\w.\[\], ]*\s*(?::\s*[\w\[\], ]+)?=[^=]|[A-Za-z_][\w.]*\()"
)
MAX_TRIES = 400


@dataclass(frozen=True)
class Extraction:
    """What was found in an answer."""

    code: str | None
    """The chosen text; None where there is none."""
    rule: str
    """Name of the rule that chose it, or that says why there is none."""
    detail: str = ""
    """What was left out on the way, for a reader."""


def extract(answer: str, task_type: str) -> Extraction:
    """Find the code in ``answer`` for a task of ``task_type`` (``Bash Script`` or ``Python Code``)."""
    if not answer.strip():
        return Extraction(None, "empty", "the answer is empty")
    text = INVISIBLE.sub("", answer).replace("\r\n", "\n")
    try:
        text = without_reasoning(text)
    except NeverEndedError:
        return Extraction(None, "reasoning_never_ended", "no answer: the reasoning never ended")
    if not text.strip():
        return Extraction(None, "empty", "nothing follows the reasoning")
    python = task_type == "Python Code"
    blocks = [block for block in fenced_blocks(text) if block.text.strip()]
    found = _from_blocks(blocks, python=python) if blocks else _from_text(text, python=python)
    if found is None or (not blocks and (found.rule != "whole_answer" or found.detail)):
        marked = [block for block in marked_blocks(text) if block.text.strip()]
        found = _from_blocks(marked, python=python) or found or _other_language(marked, python=python)
    if found is None and blocks:
        found = _from_text(_outside(text), python=python) or _other_language(blocks, python=python)
    if found is None:
        rule = "refusal" if REFUSAL.search(text) else "no_code"
        return Extraction(None, rule, "the answer holds no code")
    if found.code is not None and not is_text(found.code):
        return Extraction(None, "not_text", "the code holds a lone surrogate, which no file can hold")
    return found


def is_text(code: str) -> bool:
    """Whether ``code`` can be stored in a file: no lone surrogate stands in it."""
    return not any("\ud800" <= character <= "\udfff" for character in code)


def language_of(code: str) -> str:
    """``python``, ``shell`` or ``unknown``, by how the code reads."""
    lines = [line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    commands = sum(is_command(line) for line in lines)
    if is_python(code) and not (lines and commands == len(lines) and re.match(r"\s*\w+=\S+\s*$", lines[0])):
        return "python"
    if commands:
        return "shell" if not re.search(r"^(?:import|from)\s+\w|^def\s+\w+\(", code, re.MULTILINE) else "python"
    return "python" if lines and CODE_START.match(lines[0]) and not parses(code) and "(" in code else "unknown"


# fenced blocks ---------------------------------------------------------------------------------------------


def _from_blocks(blocks: list[Block], *, python: bool) -> Extraction | None:
    blocks = [block for block in blocks if not SAMPLE_OUTPUT.match(block.lead)] or blocks
    tagged = [block for block in blocks if block.language in (PYTHON if python else SHELL)]
    untagged = [block for block in blocks if block.language not in PYTHON | SHELL]
    if python:
        likely = [block for block in untagged if is_python(_clean_python(block.text))]
        likely = likely or [block for block in untagged if _begins_like_python(block.text.split("\n"))]
        return _last_python(tagged, "python_block") or _last_python(likely, "untagged_block")
    choices = (
        (tagged, "shell_block"),
        ([block for block in untagged if _reads_as_shell(block.text)], "untagged_block"),
        (
            [replace(b, text=_notebook(b.text)) for b in blocks if b.language in PYTHON and _mistagged(b)],
            "mistagged_block",
        ),
    )
    return next((found for some, rule in choices if (found := _joined_shell(some, rule)) is not None), None)


def _last_python(blocks: list[Block], rule: str) -> Extraction | None:
    useful = [block for block in blocks if not only_installs(block.text)]
    useful = [block for block in useful if is_python(block.text) or not parses(block.text)] or useful
    if not useful:
        return None
    code = _clean_python(useful[-1].text)
    if not is_python(code) and useful[-1].language and _reads_as_shell(code):
        return None  # a command under a Python tag: the other language
    name = f"last_{rule}" if len(useful) > 1 else rule
    left = f"{len(useful) - 1} earlier blocks left out" if len(useful) > 1 else ""
    return Extraction(code, name if useful[-1].closed else f"{name}_unclosed", left)


def _clean_python(code: str) -> str:
    """Without the prompts of an interactive session and without a notebook's install lines."""
    lines = code.split("\n")
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))] + [""]
    if not parses(code):
        lines = [line for line in lines if not re.match(r"^\s*[!%]", line) and not is_install(line)]
    return "\n".join(lines)


def _reads_as_shell(code: str) -> bool:
    lines = [line for line in without_prompts(code).split("\n") if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and is_command(lines[0]) and not is_python(code)


def _mistagged(block: Block) -> bool:
    return _reads_as_shell(_notebook(block.text))


def _notebook(code: str) -> str:
    """A notebook cell of commands as shell: ``!command`` and ``%cd folder`` lose their mark."""
    lines = code.split("\n")
    if all(re.match(r"^\s*(?:!|%cd\b)", line) for line in lines if line.strip()):
        return "\n".join(re.sub(r"^\s*[!%]\s*", "", line) for line in lines)
    return code


def _joined_shell(blocks: list[Block], rule: str) -> Extraction | None:
    useful = [block for block in blocks if not only_installs(without_prompts(block.text))] or blocks
    if not useful:
        return None
    texts = [without_prompts(block.text) for block in useful]
    starts = [entry_points(text) for text in texts]
    kept = [
        text
        for at, text in enumerate(texts)
        if not (starts[at] and any(starts[at] <= later for later in starts[at + 1 :]))
    ]
    name = f"{rule}s_joined" if len(kept) > 1 else rule if len(blocks) == 1 else f"last_{rule}"
    left = f"{len(blocks) - len(kept)} blocks left out" if len(blocks) > len(kept) else ""
    return Extraction("".join(kept), name if useful[-1].closed else f"{name}_unclosed", left)


def _other_language(blocks: list[Block], *, python: bool) -> Extraction | None:
    tagged = [block for block in blocks if block.language in PYTHON | SHELL]
    if tagged:
        wanted = "Python" if python else "shell"
        text = without_prompts(tagged[-1].text) if tagged[-1].language in SHELL else tagged[-1].text
        return Extraction(text, "other_language_block", f"no block is {wanted}")
    return None


# without fences --------------------------------------------------------------------------------------------


def _outside(text: str) -> str:
    """The answer without its fenced blocks."""
    kept, inside = [], ""
    for line in text.split("\n"):
        fence = re.match(r"^[ \t>]*(`{3,}|~{3,})", line)
        if fence and not inside:
            inside = fence[1]
        elif fence and fence[1][0] == inside[0] and len(fence[1]) >= len(inside):
            inside = ""
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def _from_text(text: str, *, python: bool) -> Extraction | None:
    text = LANGUAGE_LINE.sub("", text)
    rules: tuple[Callable[[str], Extraction | None], ...]
    rules = (_python_text, _shell_text) if python else (_shell_text, _python_text)
    return next((found for rule in rules if (found := rule(text)) is not None), None)


def _shell_text(text: str) -> Extraction | None:
    commands, prose = command_lines(text)
    if commands.strip() and not prose:
        if _lines(commands) == _lines(text):
            return Extraction(text, "whole_answer")
        return Extraction(commands, "bare_command", "prompts and marks left out")
    if commands.strip() and not only_installs(commands) and not is_python(text):
        lines = [line for line in commands.split("\n") if not is_install(line)]
        if entry_points("\n".join(lines)) or not _inline(text):
            return Extraction(commands, "bare_command", "prose left out")
    inline = _inline(text)
    if inline:
        return Extraction(f"{inline[-1]}\n", "inline_command", "prose left out")
    return None


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _inline(text: str) -> list[str]:
    spans = [match[1].strip() for match in INLINE.finditer(text)]
    spans = [re.sub(r"^\$\s+", "", span) for span in spans]
    return [span for span in spans if is_command(span) and entry_points(span)]


def _python_text(text: str) -> Extraction | None:
    if is_python(text):
        return Extraction(text, "whole_answer")
    cleaned = _clean_python(text)
    if is_python(cleaned):
        return Extraction(cleaned, "whole_answer", "prompts and install lines left out")
    lines = text.strip("\n").split("\n")
    start = next((at for at, line in enumerate(lines) if CODE_START.match(line)), None)
    if start is None:
        return None
    for end in range(len(lines), max(start, len(lines) - MAX_TRIES), -1):
        part = "\n".join(lines[start:end])
        if is_python(part) and all(_is_prose(line) for line in lines[end:]):
            return Extraction(f"{part}\n", "bare_code", "prose left out")
        if end < len(lines) and not _is_prose(lines[end]):
            break
    if _begins_like_python(lines[start:]):
        code = text if start == 0 else "\n".join(lines[start:]) + "\n"
        return Extraction(code, "whole_answer" if start == 0 else "bare_code", "it does not parse")
    return None


def _is_prose(line: str) -> bool:
    if not line.strip():
        return True
    return "=" not in line and re.match(r"^\W*[A-Z][\w'’,-]*(?:\s+\S+){2,}$", line) is not None


def _begins_like_python(lines: list[str]) -> bool:
    """Whether text that does not parse was meant as Python: what it begins with, and no command line."""
    first = next((line for line in lines if line.strip()), "")
    return bool(re.match(r"^(?:import|from|def|class|@|#|print\b|\w+\s*=\s)", first)) and not is_command(first)
