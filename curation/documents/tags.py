"""Language tags as people write them, and guessing where there is none or a wrong one."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

from ..commands.words import is_command_line, strip_prompt

__all__ = ["guess_language", "language_of_tag", "looks_like_python", "parses_as_python"]

_LANGUAGES = {
    "shell": (
        "bash sh shell zsh ksh fish shellscript bashrc bat batch powershell ps1 pwsh commandline command cmdline cmd"
        " cli linux unix macos terminal term bash-script shell-script sh-script posh dos"
    ),
    "console": "console shell-session shellsession sh-session bash-session session",
    "python": "python py python2 python3 py2 py3 pytho3 pythn py37 py38 py39 py310 python3.8 gpython sage",
    "pycon": "pycon python-console python-repl pyconsole doctest",
    "ipython": "ipython ipython3 jupyter notebook colab",
    "": "nohighlight code",
    "text": "text txt plain plaintext none",
    "output": "output out log logs",
    "dockerfile": "dockerfile docker",
    "yaml": "yaml yml",
}
_BY_TAG = {tag: language for language, tags in _LANGUAGES.items() for tag in tags.split()}


def language_of_tag(info: str) -> tuple[str, str]:
    """``(canonical language, tag as written)`` of a fence's info string; both empty where there is none.

    Case, braces (``{.bash .numberLines}``), file names (``bash:run.sh``) and attributes do not matter.
    """
    info = info.strip()
    inner = re.sub(r"^\{(.*)\}$", r"\1", info)
    words = re.split(r"[\s,:{}=]+", inner.strip())
    tag = words[0] if words else ""
    plain = tag.lower().lstrip(".#!").removeprefix("language-").removeprefix("lang-")
    return (_BY_TAG[plain] if plain in _BY_TAG else plain if _is_language(plain) else ""), tag


@lru_cache(maxsize=1024)
def _is_language(tag: str) -> bool:
    """Whether a tag names a language at all; people also write what the block is for."""
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        find_lexer_class_by_name(tag)
    except ClassNotFound:
        return False
    return True


def parses_as_python(code: str) -> bool:
    """Whether the whole of ``code`` is Python for this interpreter's parser. Nothing is run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]|import[ \t]+[A-Za-z_][\w.]*)", re.M)
_STATEMENT = re.compile(
    r"^[ \t]*(?:[A-Za-z_][\w.\[\]\"']*(?:[ \t]*,[ \t]*\w+)*[ \t]*=[ \t]*[^=]|def \w+\(|class \w+|with .+:$"
    r"|for .+ in .+:$"
    r"|[A-Za-z_][\w.]*\(.*\)[ \t]*(?:#.*)?$|@\w+)",
    re.M,
)


def looks_like_python(code: str) -> bool:
    """Whether ``code`` has the marks of Python and not only words that happen to parse."""
    return bool(_IMPORT.search(code)) or (bool(_STATEMENT.search(code)) and parses_as_python(code))


def guess_language(language: str, code: str) -> str:
    """What the code is, by its content where the tag is missing, neutral or plainly wrong.

    A tag that names another language (``yaml``, ``diff``, ``text``) is believed, unless the block holds nothing but
    command lines with options.
    """
    if re.search(r"^[ \t]*>>> ", code, re.M):
        return "pycon" if language in ("", "python", "pycon", "console", "shell", "ipython") else language
    if language == "shell":
        if any(strip_prompt(line) is not None for line in code.splitlines()):
            return "console"
        if _IMPORT.search(code) and not _has_command(code) and parses_as_python(code):
            return "python"
        return "shell"
    if language == "python":
        if not parses_as_python(code) and _has_command(code) and not _IMPORT.search(code):
            return "console" if any(strip_prompt(line) is not None for line in code.splitlines()) else "shell"
        if re.search(r"^[ \t]*[!%]", code, re.M) and not parses_as_python(code):
            return "ipython"
        return "python"
    if language == "":
        if any(strip_prompt(line) is not None for line in code.splitlines()):
            return "console"
        if _IMPORT.search(code) and looks_like_python(code):
            return "python"
        if _has_command(code):
            return "shell"
        return "python" if looks_like_python(code) else ""
    if language == "text" and any(strip_prompt(line) is not None for line in code.splitlines()):
        return "console"
    return "shell" if language != "output" and _only_commands(code) else language


def _only_commands(code: str) -> bool:
    """Whether all lines are commands, one of which has an option."""
    lines = [line for line in re.sub(r"\\\n", " ", code).splitlines() if line.strip() and not line.startswith("#")]
    return any(re.search(r"\s--?[A-Za-z]", line) for line in lines) and all(map(is_command_line, lines))


def _has_command(code: str) -> bool:
    return any(is_command_line(line) for line in code.splitlines())
