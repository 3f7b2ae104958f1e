"""Drafts from scripts with a command line that no document names, with the README section that fits them best."""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ...core.models import EntryPoint, OracleScope, Source
from .draft import Draft
from .from_document import DocumentReader, command_key
from .from_scripts import does_work
from .layout import Layout
from .outline import Outline, Span

__all__ = ["undocumented_drafts"]

_COMMAND_LINE = re.compile(
    rb"ArgumentParser\(|\bparse_args\(|@click\.command|click\.command\(|typer\.(?:run|Typer)|DEFINE_(?:string|integer|float|bool)"
    rb"|fire\.Fire|HfArgumentParser|tyro\.cli|hydra\.main|\bsys\.argv\[|getopt\.g"
)
_SHELL_ARGUMENTS = re.compile(rb"\$(?:[1-9@*]|\{[1-9@])|\bgetopts\b")
_MAIN = re.compile(rb"__name__\s*==\s*['\"]__main__['\"]|\bapp\.run\(|\.parse_args\(")
_PLACES = re.compile(
    r"(?:.*[_-])?(?:examples?|scripts?|demos?|tools?|implementations?|projects?|tutorials?|experiments?|benchmarks?"
    r"|samples?|apps?|tasks?|recipes?|playground|bin|cli)(?:[_-].*)?",
    re.IGNORECASE,
)
_NOT_PLACES = re.compile(
    r"tests?|testing|third_?party|externals?|vendor|node_modules|build|docs?|\..*|site-packages", re.IGNORECASE
)
_NOT_SCRIPTS = re.compile(r"(?:setup|conftest|__init__|test_.*_test|version|hubconf|versioneer)\.py|_.*\.py")
_SAY_NOTHING = ("torch", "import", "numpy", "os", "sys", "argparse", "main", "py")
_SAY_LITTLE = ("train", "test", "eval", "evaluate", "run", "demo", "predict", "inference", "infer", "example", "script")
MOST_SCRIPTS = 600


def undocumented_drafts(
    layout: Layout, readers: Sequence[DocumentReader], documented: Iterable[str]
) -> Iterator[Draft]:
    """One draft for each such script in a root- or examples-level place."""
    known = set(documented)
    doc_folders = {reader.folder for reader in readers}
    paths = [path for path in layout.tree.paths() if path not in known and _is_place(path, layout, doc_folders)]
    finder = _SectionFinder(readers)
    count = 0
    for path, data in layout.tree.read_many(paths):
        if count < MOST_SCRIPTS and _has_command_line(path, data):
            found = finder.likely(path, data)
            if found:
                count += 1
                yield _draft(layout, path, *found)


def _has_command_line(path: str, data: bytes) -> bool:
    if path.endswith(".py"):
        return bool(_COMMAND_LINE.search(data) and _MAIN.search(data))
    return bool(_SHELL_ARGUMENTS.search(data)) and does_work(path)


def _is_place(path: str, layout: Layout, doc_folders: set[str]) -> bool:
    folder, name = posixpath.split(path)
    if not name.endswith((".py", ".sh")) or _NOT_SCRIPTS.fullmatch(name):
        return False
    parts = folder.split("/") if folder else []
    if any(_NOT_PLACES.fullmatch(part) for part in parts):
        return False
    if not parts or folder in doc_folders:
        return True
    if f"{folder}/__init__.py" in layout.files:
        return False
    return any(_PLACES.fullmatch(part) for part in parts)


class _SectionFinder:
    """The section of the nearest document whose words are most like a script's."""

    def __init__(self, readers: Sequence[DocumentReader]) -> None:
        self._by_folder: dict[str, list[DocumentReader]] = {}
        for reader in readers:
            self._by_folder.setdefault(reader.folder, []).append(reader)
        self._sections: dict[str, list[tuple[Span, Counter[str]]]] = {}

    def likely(self, path: str, data: bytes) -> tuple[DocumentReader, list[Span]] | None:
        """The nearest document and its two likeliest sections, the likeliest first."""
        folder = posixpath.dirname(path)
        while folder not in self._by_folder and folder:
            folder = posixpath.dirname(folder)
        readers = self._by_folder.get(folder)
        if not readers:
            return None
        sections = self._sections_of(readers[0])
        query = _words_of_script(path, data)
        spread = Counter(word for _, words in sections for word in words)

        def likeness(section: tuple[Span, Counter[str]]) -> float:
            words = section[1]
            total = sum(
                weight * math.log(1 + len(sections) / spread[word]) * words[word] / (words[word] + 1)
                for word, weight in query.items()
                if word in words
            )
            # of sections equally alike, one that shows how things are run
            return total + 0.5 * bool(words["python"] or words["bash"] or words["run"]) + 0.2 * bool(words["usage"])

        ranked = sorted(sections, key=likeness, reverse=True)
        return readers[0], [span for span, _ in ranked[:2]]

    def _sections_of(self, reader: DocumentReader) -> list[tuple[Span, Counter[str]]]:
        path = reader.document.path
        if path not in self._sections:
            self._sections[path] = [
                (span, _words_of_section(reader.outline, span)) for span in reader.outline.sections()
            ]
        return self._sections[path]


def _words_of_section(outline: Outline, span: Span) -> Counter[str]:
    """How often each word stands there; what stands in code counts twice, for it shows how a thing is used."""
    code = "\n".join(block.text for block in outline.blocks_in(span))
    return Counter(_words(f"{outline.document.slice(*span)}\n{code}"))


def _words(text: str) -> list[str]:
    """Words of prose and of names: ``train_pointNet2`` gives the whole, and ``train``, ``point``, ``net``."""
    return [part for word in re.findall(r"[A-Za-z][A-Za-z0-9_]+", text) for part in _with_parts(word)]


@lru_cache(maxsize=1 << 16)
def _with_parts(word: str) -> tuple[str, ...]:
    found = [word.lower()]
    for pattern in (r"[^_]+", r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"):
        parts = re.findall(pattern, word)
        if len(parts) > 1:
            found += [part.lower() for part in parts if len(part) > 2]
    return tuple(found)


def _words_of_script(path: str, data: bytes) -> dict[str, float]:
    """Words by how much they say about the script: its name, its folder, then what it imports and its options."""
    text = data[:20000].decode("utf-8", "ignore")
    query: dict[str, float] = {}
    imported = " ".join(re.findall(r"^\s*(?:from\s+[\w.]+\s+)?import\s+([^\n#]+)", text, re.M))
    options = " ".join(re.findall(r"['\"]--?([\w-]+)['\"]", text)).replace("-", "_")
    for words, weight in (
        (_words(options), 0.05),
        (_words(imported), 0.15),
        (_words(posixpath.basename(posixpath.dirname(path))), 1.0),
        (_words(posixpath.basename(path)[:-3]), 6.0),
    ):
        for word in words:
            if word not in _SAY_NOTHING:
                query[word] = max(query.get(word, 0.0), min(weight, 0.5) if word in _SAY_LITTLE else weight)
    return query


def _draft(layout: Layout, path: str, reader: DocumentReader, spans: Sequence[Span]) -> Draft:
    folder, name = posixpath.split(path)
    if not folder.startswith(reader.folder):
        folder = reader.folder
    span, *others = spans
    scopes = _scopes(reader.outline, span, others)
    draft = Draft(
        source=reader.source(span[0], span[1]),
        type="Bash Script",
        folder=folder,
        entry_point=EntryPoint(kind="file", target=path),
        target=path,
        output=f"{'python' if name.endswith('.py') else 'bash'} {name}",
        key=command_key(path, ()),
        normal=path,
        scopes=scopes,
        preferred=scopes[0].scope,
        origin="undocumented",
        order=(3000 + reader.rank, path, 0, 0),
    )
    draft.also_at.append(Source(path=path, blob=layout.tree.blob_of(path) or "", start_line=1, end_line=1))
    return draft


def _scopes(outline: Outline, span: Span, others: Sequence[Span]) -> tuple[OracleScope, ...]:
    """The scopes around the likeliest section, and in place of its own second the section that is likely next."""
    around = outline.scopes(*span)
    kept = [scope for scope in around if scope.scope != "section"]
    kept[1:1] = [outline.section_scope(other) for other in others]
    return tuple(kept)
