"""The vocabulary of command lines: prompts, programs that start things, programs that prepare things."""

from __future__ import annotations

import re

__all__ = [
    "PYTHON",
    "SHELLS",
    "is_command_line",
    "is_inline_command",
    "is_placeholder",
    "strip_prompt",
]

PYTHON = re.compile(
    r"(?:\S*/)?(?:[Pp]ython|pypy|ipython)(?:\d(?:\.\d+)?)?|\$\{?PYTHON\d?(?::-[^}]*)?\}?|\$\{?python\}?|py", re.ASCII
)
SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "source", ".")

_STARTERS = (
    "accelerate torchrun deepspeed horovodrun mpirun mpiexec srun sbatch uv conda mamba poetry pipenv nohup"
    " time env xvfb-run streamlit jupyter fairseq-train fairseq-generate fairseq-preprocess colossalai"
    " composer ray"
)
_OTHER_PROGRAMS = (
    "apt apt-get aws brew cat cd chmod cmake cp curl docker echo export gdown git gsutil gunzip"
    " huggingface-cli kaggle ln ls make mkdir module mv npm pip pip3 rm rsync scp set sed sudo tar touch unset"
    " unzip virtualenv wget 7z pushd popd yum dnf pacman cargo"
)
_PROGRAM = re.compile(r"(?:" + "|".join(map(re.escape, f"{_STARTERS} {_OTHER_PROGRAMS}".split())) + r")", re.ASCII)
_ASSIGNMENTS = re.compile(r"(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|[^\s\"'])*\s+)+")
_SCRIPT = re.compile(r"[\w.$~{}/*+-]*[\w}*]\.(?:py|sh|bash)", re.ASCII)

_PROMPTS = (
    re.compile(r"\s*(?:\([\w.\- ]+\)\s*)?(?:\[?[\w.-]+@[\w.-]+[: ][^$#%>]*?)?[$%]\s+(?=\S)"),
    re.compile(r"\s*(?:\([\w.\- ]+\)\s*)?\[?[\w.-]+@[\w.-]+[: ][^$#%>]*?\]?#\s+(?=\S)"),
    re.compile(r"\s*(?:PS )?[A-Za-z]:\\[^>\n]*>\s*(?=\S)"),
    re.compile(r"\s*(?:\([\w.\- ]+\)\s*)?➜\s+\S+\s+git:\(\S*\)\s+(?:[✗x]\s+)?(?=\S)"),
    re.compile(r"\s*[❯➜»λ]\s+(?=\S)"),
    re.compile(r"\s*(?:(?:ba|z)?sh-\d[\d.]*|~[\w./-]*)[$#%]\s+(?=\S)"),
    re.compile(r"\s*(?:In \[\d*\]:\s*)?!(?=[A-Za-z./]+\s)"),
    re.compile(r"\s*\$(?=(?:python\d?|bash|sh|pip\d?|cd|git)\s)"),
    re.compile(r"\s*>\s*(?=(?:python[\d.]*|bash|sh|pip\d?|cd|git|\./\S+)\s)"),
)


def strip_prompt(line: str) -> str | None:
    """The line without its shell prompt (``$ ``, ``(venv) $ ``, ``user@box:~$ ``); None where it has none."""
    for prompt in _PROMPTS:
        match = prompt.match(line)
        if match:
            return line[match.end() :]
    return None


def is_command_line(line: str) -> bool:
    """Whether a line starts like a command somebody would type, not like a sentence or other code."""
    line = line.strip()
    if not line or line.startswith(("#", "//", ">>>", "<", "{", "}", "import ", "from ")):
        return False
    line = _ASSIGNMENTS.sub("", line, count=1) if _ASSIGNMENTS.match(line) else line
    words = line.split()
    if not words:
        return False
    first = words[0]
    if PYTHON.fullmatch(first):
        return len(words) > 1 and (
            words[1].startswith("-") or _SCRIPT.fullmatch(words[1].strip("\"'")) is not None or words[1] == "\\"
        )
    if first in SHELLS:
        return len(words) > 1 and _SCRIPT.fullmatch(words[1].strip("\"'")) is not None
    if first.startswith("./"):
        return len(first) > 2 and not first.endswith(":")
    if _SCRIPT.fullmatch(first):  # a name alone, or with a remark, stands in the listing of a folder
        return len(words) > 1 and re.match(r"--|-[A-Za-z]|[\w./$'\"]", words[1]) is not None
    if re.match(r"(?:export|cd|source|pip3?|conda|git|wget|curl|sudo|apt-get|mkdir)\s+\S", line):
        return "=" not in words[1][:1]
    return _PROGRAM.fullmatch(first) is not None and len(words) > 1 and words[1][:1] not in ("=", ":", "(", ".", ",")


_INLINE_START = re.compile(
    r"(?:\$ )?(?:cd \S+ ?(?:&&|;) ?)?(?:[A-Z_]+=\S+ )*"
    r"(?:(?:\S*/)?python[\d.]* |torchrun |accelerate launch |deepspeed |(?:uv|poetry|pixi) run |bash |sh |\./)",
    re.ASCII,
)


def is_inline_command(code: str) -> bool:
    """Whether an inline code is a whole command that starts a script or module, rather than a name."""
    code = code.strip()
    if _INLINE_START.match(code):
        return bool(re.search(r"\.(?:py|sh)\b", code)) or " -m " in f" {code} "
    words = code.split()
    return len(words) > 1 and _SCRIPT.fullmatch(words[0]) is not None and words[0].endswith((".py", ".sh"))


_PLACEHOLDER = re.compile(
    r"<[^<>\s][^<>]*>"  # <path>, <your id>
    r"|(?:^|[=/:])/?path/to(?:/|$)|/path/to/|path_to_|/your/|your_\w+|\byour[-_ ]|my_\w+_here|_here\b"
    r"|\[[A-Z][A-Za-z_ -]*\]|^\[\w+(?:[/|]\w+)+\]$"  # [MODEL NAME], [sgd/adam]
    r"|\$\{?your\w*\}?|\bXXX+\b|\bYOUR[_A-Z]*\b|\{[a-z_]+ [a-z_ ]+\}|^\.\.\.$|\.\.\./|<[^>]*$",
    re.ASCII,
)


def is_placeholder(word: str) -> bool:
    """Whether a word stands for something the reader has to fill in: ``<path>``, ``/path/to/x``, ``[MODEL NAME]``."""
    return _PLACEHOLDER.search(word) is not None
