"""Rules about the code of an example: its type, whether it parses, and what its entry point says to it."""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Iterator

from ...core.errors import BenchwrightError
from ...core.models import Repository
from ...curation.commands import commands_in, read_snippet
from ...curation.source import PinnedTree
from ..arguments import Call, trace_shell
from ..arguments.programs import ROOTS, Bound, bound_call
from .subject import Context, Finding, Subject

__all__ = ["check_code", "check_repository", "tree_of"]

_PLACEHOLDER = re.compile(
    r"<[A-Za-z][\w /.-]*>|(?<![\w.])/?path/to/|path_to_\w+|/your[_/]|\byour[_-]\w+|\[[A-Z][A-Z _-]{2,}\]"
    r"|\$\{?your\w*\}?|\bYOUR_[A-Z_]+\b|\bXXX+\b|\.\.\./",
)
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")
_BRINGING = frozenset(["cd", "git", "wget", "curl", "cp", "mv", "ln", "unzip", "tar", "gdown", "cat", "echo"])
_PROBLEMS = {
    "unknown_option": "BW301",
    "ambiguous": "BW301",
    "missing_required": "BW302",
    "bad_choice": "BW303",
    "bad_value": "BW303",
    "missing_value": "BW303",
    "unexpected_value": "BW303",
    "extra_positional": "BW303",
    "exclusive": "BW303",
    "ok_abbreviation": "BW304",
}


def check_code(subject: Subject, context: Context) -> Iterator[Finding]:
    """Rules that need nothing but the row."""
    output = subject.text("output")
    error = _parse_error(output) if subject.is_python else None
    calls = () if subject.is_python else trace_shell(output).calls
    if subject.is_python and error and (calls := _only_commands(output)):
        yield subject.finding("BW101", f"it is declared Python Code and starts {calls[0].target}")
    elif not subject.is_python and _is_python(output):
        yield subject.finding("BW101", "it is declared Bash Script and is Python")
    elif error:
        yield subject.finding("BW103", f"output: {error}")
    elif not subject.is_python and (unread := _shell_error(output)):
        yield subject.finding("BW103", f"output: {unread}")
    names_script = ".sh " in output or ".py " in output
    if names_script == subject.is_python:
        said = "holds `.sh ` or `.py `" if names_script else "holds neither `.sh ` nor `.py ` with a blank behind"
        yield subject.finding("BW102", f"it is {subject.text('type')} and {said}")
    match = _PLACEHOLDER.search(_without_comments(output, python=subject.is_python))
    if match:
        yield subject.finding("BW307", f"output: {match[0]!r}")


def _parse_error(code: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join("" if line.lstrip().startswith(("!", "%")) else line for line in code.split("\n")))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
        return f"{line}{getattr(error, 'msg', None) or error}"
    return None


def _only_commands(code: str) -> tuple[Call, ...]:
    """The calls of text of which every line is a command."""
    trace = trace_shell(code)
    lines = [line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    plain = trace.exact and all(call.kind in ("file", "module") for call in trace.calls)
    return trace.calls if plain and lines and len(trace.calls) >= 1 and "import " not in code else ()


def _is_python(code: str) -> bool:
    """Whether text is Python that does something, and so no shell."""
    if _parse_error(code) is not None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse("\n".join(line for line in code.split("\n") if not line.lstrip().startswith(("!", "%")))).body
    telling = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.With, ast.For)
    calls = any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in body)
    return calls or any(isinstance(node, telling) for node in body)


def _shell_error(code: str) -> str | None:
    """What bash could not read. The grammar knows less than bash, so only what it cannot read at all counts."""
    if not code.strip():
        return "it is empty"
    quote = "" if _HEREDOC.search(code) else _open_quote(code)
    if quote:
        return f"a {quote} is never closed"
    try:
        notes = commands_in(code, "shell").notes
    except RecursionError:
        return "it is nested too deeply to be read"
    return notes[0] if notes and not trace_shell(code).calls else None


def _open_quote(code: str) -> str:
    """The quote that is still open at the end; empty where none is."""
    state, at = "", 0
    while at < len(code):
        char = code[at]
        if char == "\\" and state != "'":
            at += 1
        elif state:
            state = "" if char == state else state
        elif char in "'\"":
            state = char
        elif char == "#" and (at == 0 or code[at - 1] in " \t\n;"):
            at = code.find("\n", at)
            if at < 0:
                break
        at += 1
    return state


def _without_comments(code: str, *, python: bool) -> str:
    return re.sub(r"(?m)(?:^|(?<=\s))#.*$", "", code) if not python else re.sub(r"(?m)#.*$", "", code)


# with the repository at hand -------------------------------------------------------------------------------


def tree_of(subject: Subject, context: Context) -> PinnedTree | str:
    """The repository's files at the row's own commit, else the registered one; else why they are not at hand."""
    number, commit = subject.key[0], subject.text("commit")
    repository = context.repositories.get(number)
    if repository is None:
        return f"no commit is known for {subject.text('github')} (github_id {number})"
    try:
        if commit:
            repository = Repository.load(repository.model_dump() | {"commit": commit}, subject.where)
        return context.open(repository)
    except BenchwrightError as error:
        return f"{repository.name}: {error.message}"


def check_repository(subject: Subject, tree: PinnedTree) -> Iterator[Finding]:
    """Rules that need the repository's files."""
    folder = posixpath.normpath(subject.text("path") or ".").lstrip("/")
    folder = "" if folder == "." else folder
    if folder and not any(path.startswith(f"{folder}/") for path in tree.paths()):
        yield subject.finding("BW306", f"there is no folder {folder}")
        return
    if subject.is_python:
        yield from _imports(subject, tree, folder)
    else:
        yield from _calls(subject, tree, folder)


def _imports(subject: Subject, tree: PinnedTree, folder: str) -> Iterator[Finding]:
    """Modules of the repository's own packages that are not there."""
    paths = set(tree.paths())
    folders = {posixpath.dirname(path) for path in paths}
    folders |= {parent for path in list(folders) for parent in _parents(path)}
    roots = [root for root in dict.fromkeys((folder, *ROOTS)) if not root or root in folders]
    for imported in read_snippet(subject.text("output")).imports:
        parts = imported.module.split(".")
        ours = [posixpath.join(root, parts[0]) for root in roots]
        if len(parts) < 2 or not parts[0] or not any(place in folders for place in ours):
            continue
        places = [posixpath.join(root, *parts) for root in roots]
        if not any(place in folders or f"{place}.py" in paths or f"{place}.so" in paths for place in places):
            yield subject.finding("BW305", f"there is no module {imported.module}{_nearby(f'{parts[-1]}.py', tree)}")


def _parents(path: str) -> Iterator[str]:
    while path:
        path = posixpath.dirname(path)
        yield path


def _calls(subject: Subject, tree: PinnedTree, folder: str) -> Iterator[Finding]:
    prefix = subject.text("prefix_code")
    made = _made_by(prefix)
    for call in trace_shell(subject.text("output"), folder=folder).calls:
        bound = bound_call(call, tree)
        if bound.path is None:
            if call.kind == "file" and not call.folder.startswith("?") and not made and _is_ours(call.target):
                where = posixpath.normpath(posixpath.join(call.folder, call.target))
                yield subject.finding("BW305", f"there is no {where}{_nearby(call.target, tree)}")
        elif bound.program is not None:
            yield from _flags(subject, bound)


def _is_ours(target: str) -> bool:
    """Whether a script's path can be one of the repository: no variable, no absolute path."""
    return not re.search(r"[$*~<>]", target) and not target.startswith("/")


def _made_by(prefix: str) -> bool:
    """Whether the preparation goes elsewhere or brings files, so that absence cannot be told."""
    try:
        commands = commands_in(prefix, "shell").commands
    except RecursionError:
        return True
    return any(command.program in _BRINGING and "install" not in command.argv for command in commands)


def _nearby(target: str, tree: PinnedTree) -> str:
    name = posixpath.basename(target)
    same = [path for path in tree.paths() if posixpath.basename(path).casefold() == name.casefold()]
    return f"; there is {', '.join(same[:3])}" if same else ""


def _flags(subject: Subject, bound: Bound) -> Iterator[Finding]:
    assert bound.program is not None
    report = bound.program.report
    if report.kind in ("none", "argv", "getopt") and not report.flags:
        return
    for problem in bound.binding.problems:
        identifier = _PROBLEMS.get(problem.kind)
        if identifier is None or (not report.complete and identifier in ("BW301", "BW303")):
            continue
        if identifier == "BW302" and report.kind in ("argv", "shell"):
            continue  # words a script reads by position may well be left out
        about = problem.text if not problem.message else f"{problem.text}: {problem.message}"
        yield subject.finding(identifier, f"{bound.path}: {about}")
