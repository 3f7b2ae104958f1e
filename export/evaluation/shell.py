"""Telling a shell command from prose and from Python, line by line."""

from __future__ import annotations

import ast
import re

from .fences import parses

__all__ = [
    "command_lines",
    "entry_points",
    "is_command",
    "is_install",
    "is_python",
    "only_installs",
    "without_prompts",
]

LINE_CHARACTERS = 4000
"""Of a longer line the beginning says what it is."""
LAUNCHERS = r"python(?:\d(?:\.\d+)?)?|bash|sh|zsh|torchrun|accelerate|deepspeed|fairseq-\w+|horovodrun|mpirun|srun"
BUILTINS = (
    "cd|export|source|conda|mamba|pip|pip3|uv|poetry|git|mkdir|wget|curl|unzip|tar|rm|cp|mv|ln|touch|chmod|cat|echo|"
    "printf|sleep|set|unset|env|time|nohup|sudo|timeout|nice|xargs|tee|make|cmake|docker|jupyter|apt|apt-get|ls|"
    "pushd|popd|eval|exec|test|true|false|exit|sed|awk|grep|find|head|tail|wait|onmt_\\w+|t2t-\\w+"
)
ASSIGNMENTS = r"(?:[A-Za-z_][A-Za-z0-9_]*=(?:\"[^\"]*\"|'[^']*'|[^\s;]*)\s+)*"
LAUNCH = re.compile(
    rf"^{ASSIGNMENTS}(?:(?:sudo|nohup|time|nice|env|exec|command)\s+)*(?:{LAUNCHERS})(?:\s+(?P<rest>.+))?$"
)
BUILTIN = re.compile(rf"^{ASSIGNMENTS}(?:{BUILTINS})(?=\s|;|$)")
PATH_COMMAND = re.compile(rf"^{ASSIGNMENTS}(?:(?:\.{{1,2}}/|/|~/)[\w./-]+|[\w/-]+\.(?:py|sh)(?=\s+-))(?:\s|$)")
CONTROL = re.compile(
    r"^(?:for\s+\w+\s+in\b|while\s.*;|while\s+\[|if\s+\[|if\s+.*;\s*then|do$|done\b|fi\b|then$|else$|esac\b)"
)
ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=(?:\"[^\"]*\"|'[^']*'|[^\s]*)\s*(?:;.*)?$")
LAUNCH_OPERAND = re.compile(r"^-|\.(?:py|sh)\b|^<<|/")
PROSE_OPERAND = re.compile(r"^(?:is|was|are|has|can|will|and|or|to|the|a|in|for|with|script|code|file|command)(?=\s|$)")
INSTALL = re.compile(
    r"^[!%]? ?(?:sudo\s+)?(?:(?:python\d?(?:\.\d+)?\s+-m\s+)?(?:uv\s+)?pip3?(?:\.\d+)?\s+install|"
    r"(?:conda|mamba)\s+(?:install|create|env|activate)|apt(?:-get)?\s+(?:-y\s+)?(?:install|update)|"
    r"poetry\s+(?:install|add)|brew\s+install|npm\s+install|git\s+(?:clone|lfs))\b"
)
USER_PROMPT = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.-]+[:~/\w.-]*)?\$\s+(?=\S)")
DECORATION = re.compile(r"^\s*(?:(?:[-*+>%❯➜]|\d{1,2}[.)])\s+|(?:[A-Z][\w ]{0,30}:)\s+)")
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
ENTRY = re.compile(
    rf"(?:^|[;&|(]|\s)(?:(?:{LAUNCHERS})\s+(?:(?:-m\s+)?torch\.distributed\.\w+\s+)?(?:--?[\w-]+(?:=\S+)?\s+(?:\d+\s+)?)*?)"
    r"(?P<target>-m\s+[\w.]+|[\w./~${}-]+\.(?:py|sh))|(?:^|[;&|]\s*)(?P<path>\.{1,2}/[\w./-]+)"
)


def is_command(line: str) -> bool:
    """Whether a line plainly is a shell command: a launcher with an operand, a known program, a path, an assignment."""
    line = line.strip()[:LINE_CHARACTERS]
    launch = LAUNCH.match(line)
    if launch:
        rest = launch["rest"] or ""
        if PROSE_OPERAND.match(rest):
            return False
        return any(LAUNCH_OPERAND.search(word) for word in rest.split()) or (bool(rest) and rest.split()[0] == "launch")
    if BUILTIN.match(line):
        return not re.search(r"[a-z]{2,}[.!?]$", line) or "/" in line or "--" in line
    return bool(PATH_COMMAND.match(line) or CONTROL.match(line) or ASSIGNMENT.match(line))


def is_install(line: str) -> bool:
    """Whether a line installs software or fetches a repository."""
    return bool(INSTALL.match(line.strip()[:LINE_CHARACTERS]))


def only_installs(code: str) -> bool:
    """Whether code does nothing but install: such a block is no answer."""
    lines = [line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and all(is_install(line) for line in lines)


def is_python(code: str) -> bool:
    """Whether code is Python by its syntax and does something: more than bare words and numbers."""
    if not parses(code):
        return False
    plain = (ast.Expr, ast.Pass)
    return any(
        not isinstance(node, plain)
        or (isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await, ast.ListComp)))
        for node in ast.parse(code).body
    )


def without_prompts(code: str) -> str:
    """A console session's commands without prompts and outputs; other code unchanged."""
    lines = code.split("\n")
    if not any(USER_PROMPT.match(line) for line in lines):
        return code
    kept: list[str] = []
    going = False
    for line in lines:
        if going or USER_PROMPT.match(line):
            text = line if going else USER_PROMPT.sub("", line, count=1)
            kept.append(re.sub(r"^>\s", "", text) if going else text)
            going = text.rstrip().endswith("\\")
    return "".join(f"{line}\n" for line in kept)


def command_lines(text: str) -> tuple[str, bool]:
    """The commands of a text without fences, and whether anything else was left out as prose.

    Continued lines and here-documents stay with their command; lines between two commands of a loop stay too.
    """
    kept: list[str] = []
    left_out = False
    going, heredoc, depth = False, "", 0
    for line in text.split("\n"):
        if heredoc:
            kept.append(line)
            heredoc = "" if line.strip() == heredoc else heredoc
            continue
        bare = USER_PROMPT.sub("", line, count=1)
        if not (going or depth):
            bare = _undecorated(bare)
        if going or depth > 0 or is_command(bare) or _is_shell_rest(bare):
            kept.append(bare)
            going = bare.endswith("\\")
            depth = max(0, depth + _depth_change(bare))
            document = HEREDOC.search(bare)
            heredoc = document[2] if document else ""
        elif line.strip():
            left_out = True
    return "".join(f"{line}\n" for line in kept), left_out


def _undecorated(line: str) -> str:
    """A command without the list mark, prompt, label or emphasis before it; any other line as it is."""
    if is_command(line):
        return line
    emphasised = re.match(r"^\s*(\*\*|__|\*)(?P<command>[^*]+)\1\s*$", line)
    bare = emphasised["command"] if emphasised else DECORATION.sub("", line[:LINE_CHARACTERS], count=1)
    if bare != line and len(line) <= LINE_CHARACTERS and is_command(bare) and entry_points(bare):
        return bare
    return bare if bare != line and re.match(r"^cd\s+\S+$", bare) else line


def _is_shell_rest(line: str) -> bool:
    return bool(re.match(r"^\s*(?:\}|\)|&&|\|\|?|;;|#!)", line))


def _depth_change(line: str) -> int:
    words = re.findall(r"(?:^|;)\s*(for|while|until|if|case|done|fi|esac)\b", line)
    return sum(1 if word in ("for", "while", "until", "if", "case") else -1 for word in words)


def entry_points(code: str) -> set[str]:
    """The scripts and modules that shell code starts, as far as its text says."""
    found = set()
    for line in code.replace("\\\n", " ").split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for match in ENTRY.finditer(line):
            target = match["target"] or match["path"]
            found.add(re.sub(r"^(?:\./)+", "", re.sub(r"\s+", " ", target)))
    return found
