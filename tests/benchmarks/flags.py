"""Whether flags read from source are those the programs have: by name for all, and in full for some that are drawn.

    python tests/benchmarks/flags.py --mirror 'file:///srv/git/{owner}+{name}/repo' [--scripts 20] [--seed 4]

Names: the literal names in ``add_argument``, ``add_option`` and ``DEFINE_`` calls of every program that a README names,
counted both ways against what was read. In full: the drawn programs are started in bubblewrap, without network, with
stubs for every package that is missing and a parser that says what it holds instead of parsing; option strings,
destination, type, default, choices, required and nargs are compared. Exits with 1 where a static value differs.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchwright.curation.flags import Flag, FlagReport, flags_of
from benchwright.curation.presets import preset_repositories
from benchwright.curation.source import PinnedTree, open_tree

NAMED = re.compile(r"[\w./-]+\.py\b")
ARGPARSE_NAME = re.compile(
    r"""^[^#\n"']*\.add_(?:argument|option)\s*\(\s*((?:["'][^"'\n]+["']\s*,?\s*)+)""", re.MULTILINE
)
ABSL_NAME = re.compile(r"""^[^#\n"']*\bDEFINE_[a-z_]+\(\s*["']([^"'\n]+)["']""", re.MULTILINE)

DRIVER = r"""
import argparse, importlib.abc, importlib.machinery, json, runpy, sys, types
script, root = sys.argv[1], sys.argv[2]
class Stub:
    def __init__(self, *a, **k): pass
    def __getattr__(self, name):
        if name == "__version__": return "9.9.9"
        if name.startswith("__"): raise AttributeError(name)
        return Stub()
    def __str__(self): return "9.9.9"
    def __call__(self, *a, **k):
        return a[0] if len(a) == 1 and callable(a[0]) and not isinstance(a[0], Stub) else Stub()
    def __iter__(self): return iter(())
    def __getitem__(self, key): return Stub()
    def __len__(self): return 0
    def __enter__(self): return self
    def __exit__(self, *a): return False
    def __bool__(self): return False
    def __hash__(self): return 0
    def __fspath__(self): return "."
    def __mro_entries__(self, bases): return (object,)
for name in "add radd sub mul truediv floordiv mod or and lt gt le ge".split():
    setattr(Stub, f"__{name}__", lambda self, *a: Stub())
class StubModule(types.ModuleType):
    __path__ = []
    __all__ = []
    __version__ = "9.9.9"
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return Stub()
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None): return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec): return StubModule(spec.name)
    def exec_module(self, module): pass
sys.meta_path.append(Finder())
held = []
def plain(value):
    try: return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError): return {"unspeakable": type(value).__name__}
def say(parser):
    for action in parser._actions:
        if isinstance(action, (argparse._HelpAction, argparse._VersionAction)): continue
        kind = getattr(action.type, "__name__", None) or (str(action.type) if action.type else None)
        default = None if action.default is argparse.SUPPRESS else plain(action.default)
        choices = None if action.choices is None else plain(list(action.choices))
        held.append([action.option_strings, action.dest, kind, default, choices, action.required, action.nargs])
def finish():
    print("\nPARSER " + json.dumps(held)); sys.stdout.flush()
    import os; os._exit(0)
def parse_args(self, args=None, namespace=None): say(self); finish()
def parse_known_args(self, args=None, namespace=None):
    say(self)
    values = {a.dest: a.default for a in self._actions if a.default is not argparse.SUPPRESS}
    return argparse.Namespace(**values), []
argparse.ArgumentParser.parse_args = parse_args
argparse.ArgumentParser.parse_known_args = parse_known_args
sys.path[:0] = [script.rpartition("/")[0], root, root + "/python", root + "/src"]
sys.argv = [script]
for _ in range(40):
    # A package of the repository that cannot be loaded here (compiled parts, version checks) becomes a stub as well.
    try: runpy.run_path(script, run_name="__main__"); break
    except BaseException as error:
        frame, guilty = error.__traceback__, None
        while frame is not None:
            name = frame.tb_frame.f_globals.get("__name__", "")
            if name not in ("__main__", "runpy") and frame.tb_frame.f_code.co_name == "<module>": guilty = name
            frame = frame.tb_next
        if guilty is None: print("STOPPED", type(error).__name__, error); break
        sys.modules[guilty] = StubModule(guilty)
        held.clear()
finish()
"""


def named_scripts(tree: PinnedTree) -> list[str]:
    """Python files that a Markdown or rst document of the repository names in any way."""
    paths = set(tree.paths())
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(posixpath.basename(path), []).append(path)
    found: set[str] = set()
    for document in sorted(path for path in paths if path.lower().endswith((".md", ".rst"))):
        text = (tree.read(document) or b"").decode("utf-8", "replace")
        for word in set(NAMED.findall(text)):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(document), word))
            same = by_name.get(posixpath.basename(word), [])
            found.update([path for path in (beside, word) if path in paths][:1] or (same if len(same) == 1 else []))
    return sorted(found)


def literal_names(tree: PinnedTree, report: FlagReport, path: str) -> Iterator[str]:
    """The names spelled out in the program's file."""
    text = (tree.read(path) or b"").decode("utf-8", "replace")
    text = re.sub(r'"""[\s\S]*?"""|' + r"'''[\s\S]*?'''", "", text)
    if report.kind == "absl":
        yield from ABSL_NAME.findall(text)
    for group in ARGPARSE_NAME.findall(text):
        yield from re.findall(r"""["']([^"'\n]+)["']""", group)


def read_names(report: FlagReport) -> set[str]:
    names = {name for flag in report.flags for name in (*flag.options, flag.argument.name)}
    return names.union(*(read_names(inner) for inner in report.subcommands.values()))


def own_names(report: FlagReport, path: str) -> set[str]:
    """The name of each flag that is read as defined in the program's own file, as it would be spelled there."""
    own = [flag for flag in report.flags if (flag.argument.defined_at or "").rpartition(":")[0] == path]
    if report.kind == "absl":
        return {flag.argument.name for flag in own}
    return {flag.options[0] if flag.options else flag.argument.name for flag in own if flag.action != "subcommand"}


def in_sandbox(root: Path, path: str) -> list[list[Any]] | None:
    """What the program's parser says of itself; None where it cannot be brought to speak."""
    command = [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    command += ["--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
    base = Path(sys.base_prefix).resolve()
    command += ["--ro-bind", str(base), str(base), "--bind", str(root), "/repository", "--tmpfs", "/tmp"]
    command += ["--chdir", str(posixpath.join("/repository", posixpath.dirname(path))), "--clearenv"]
    command += [str(base / "bin" / "python3"), "-I", "-c", DRIVER, f"/repository/{path}", "/repository"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, errors="replace")
    except subprocess.TimeoutExpired:
        return None
    for line in done.stdout.splitlines():
        if line.startswith("PARSER "):
            held: list[list[Any]] = json.loads(line.removeprefix("PARSER "))
            return held or None
    return None


def differences(report: FlagReport, held: list[list[Any]]) -> Iterator[str]:
    """Where the program's own parser and the reading disagree; what the reading calls not static is left out."""
    read: dict[str, Flag] = {flag.options[0] if flag.options else flag.argument.name: flag for flag in report.flags}
    spoken = {(row[0][0] if row[0] else row[1]): row for row in held}
    for name in sorted(spoken.keys() - read.keys()):
        yield f"{name}: not read"
    for name in sorted(read.keys() - spoken.keys()):
        if read[name].action not in ("help", "version") and not read[name].conditional:
            yield f"{name}: read, but the parser has none"
    for name in sorted(read.keys() & spoken.keys()):
        options, dest, kind, default, choices, required, nargs = spoken[name]
        flag, argument = read[name], read[name].argument
        own = argument.type if flag.takes_value and flag.converter is None else None
        pairs: dict[str, tuple[Any, Any]] = {
            "options": (sorted(flag.options), sorted(options)),
            "dest": (argument.name, dest),
            # For `*` and the rest argparse notes "required", and then takes no word as well.
            "required": (argument.required, required and nargs not in ("*", "...")),
            "nargs": (flag.nargs, nargs),
        }
        if argument.static and not (isinstance(default, dict) and "unspeakable" in default):
            pairs["default"] = (argument.default, default)
        if argument.static:
            pairs["choices"] = (None if argument.choices is None else list(argument.choices), choices)
        if own is not None:
            pairs["type"] = (own.rsplit(".", 1)[-1], (kind or "str").rsplit(".", 1)[-1])
        yield from (
            f"{name}: {what}: read {mine!r}, is {theirs!r}" for what, (mine, theirs) in pairs.items() if mine != theirs
        )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mirror", action="append", default=[])
    options.add_argument("--scripts", type=int, default=20)
    options.add_argument("--seed", type=int, default=4)
    chosen = options.parse_args()
    programs: list[tuple[str, str]] = []
    literal = found = missing = extra = wrong = spoken = 0
    elapsed = 0.0
    with tempfile.TemporaryDirectory() as folder:
        clones = Path(folder) / "clones"
        repositories = {repository.name: repository for repository in preset_repositories("ml-bench")}
        for repository in repositories.values():
            with open_tree(repository, clones, chosen.mirror) as tree:
                start = time.perf_counter()
                reports = {path: flags_of(tree, path) for path in named_scripts(tree)}
                elapsed += time.perf_counter() - start
                for path, report in reports.items():
                    if report.kind not in ("argparse", "absl"):
                        continue
                    if report.kind == "argparse" and report.complete:
                        programs.append((repository.name, path))
                    names = read_names(report)
                    spelled = list(literal_names(tree, report, path))
                    absent = [name for name in spelled if name not in names]
                    unspelled = sorted(own_names(report, path) - set(spelled))
                    extra += len(unspelled)
                    if unspelled:
                        print(f"{repository.name} {path}: read, not spelled out: {', '.join(unspelled)}"[:200])
                    literal += len(spelled)
                    found += len(report.arguments)
                    missing += len(absent)
                    if absent:
                        print(f"{repository.name} {path}: not read: {', '.join(absent)}")
        print(f"{len(programs)} argparse programs; {literal} literal names, {missing} not read; {found} flags read")
        print(f"read as defined in the program's own file, but not spelled out there: {extra}")
        print(f"read in {elapsed:.1f} s")
        drawn = random.Random(chosen.seed).sample(programs, len(programs))
        for name, path in drawn:
            if spoken == chosen.scripts:
                break
            root = Path(folder) / "trees" / name
            with open_tree(repositories[name], clones, chosen.mirror) as tree:
                if not root.exists():
                    root.mkdir(parents=True)
                    tree.materialise(root)
                held = in_sandbox(root, path)
                if held is None:
                    print(f"{name} {path}: could not be brought to speak")
                    continue
                spoken += 1
                report = flags_of(tree, path)
                different = list(differences(report, held))
            wrong += len(different)
            print(f"{name} {path}: {len(held)} flags, {len(different)} differences")
            for text in different:
                print(f"    {text}")
    print(f"{spoken} programs compared in full, {wrong} differences")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
