"""A small repository of our own words, as annotators meet it: a README with tables, and a program with flags."""

from __future__ import annotations

import git

from benchwright.core.models import Candidate
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace
from benchwright.curation import curate
from benchwright.curation.repositories import add

URL = "https://git.example.org/mills/wordmill"

README = """\
# wordmill

Makes word lists for spelling games out of any text, without downloading anything.

## Grinding a text

The mill reads a text, counts its words and keeps the most frequent ones:

```bash
python grind.py --text samples/harbour.txt --keep 5 --order frequency
```

| option | meaning | default |
|---|---|---|
| `--text` | file to read | none, must be given |
| `--keep` | how many words stay | 10 |
| `--order` | `frequency`, `alphabet` or `length` | `frequency` |
| `--min-length` | shorter words are dropped | 1 |

With `--quiet` only the words are printed, one a line.

## Playing hangman

A round of hangman against a simulated player, who guesses letters by their frequency:

```bash
python hangman.py --word lighthouse --lives 7 --seed 3
```

Fewer lives make it harder. The seed decides which letters the player tries first.

## Drawing a crossword row

To place words beside each other in one row, with black squares between them:

```bash
python row.py --words tide,mast,anchor --width 16
```
"""

GRIND = '''\
"""Counts the words of a text and keeps some of them."""

import argparse
from collections import Counter


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True, help="file to read")
    parser.add_argument("--keep", type=int, default=10, help="how many words stay")
    parser.add_argument("--order", choices=["frequency", "alphabet", "length"], default="frequency")
    parser.add_argument("--min-length", type=int, default=1, help="shorter words are dropped")
    parser.add_argument("--quiet", action="store_true", help="print nothing but the words")
    args = parser.parse_args()
    with open(args.text, encoding="utf-8") as text:
        words = Counter(word for word in text.read().lower().split() if len(word) >= args.min_length)
    kept = [word for word, _ in words.most_common(args.keep)]
    if args.order == "alphabet":
        kept.sort()
    elif args.order == "length":
        kept.sort(key=len)
    if not args.quiet:
        print(f"{len(words)} different words, {len(kept)} kept")
    print("\\n".join(kept))


if __name__ == "__main__":
    main()
'''

HANGMAN = '''\
"""A round of hangman against a simulated player."""

import argparse
import random


def play(word, lives, seed):
    letters = list("etaoinshrdlucmfwypvbgkqjxz")
    random.Random(seed).shuffle(letters)
    open_letters = set()
    for letter in letters:
        if set(word) <= open_letters or not lives:
            break
        if letter in word:
            open_letters.add(letter)
        else:
            lives -= 1
    return "".join(letter if letter in open_letters else "_" for letter in word), lives


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--word", default="harbour")
    parser.add_argument("--lives", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    shown, lives = play(args.word, args.lives, args.seed)
    print(f"{shown}: {'found' if '_' not in shown else 'lost'}, {lives} lives left")


if __name__ == "__main__":
    main()
'''

ROW = '''\
"""Places words in one row of a crossword."""

import argparse


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", required=True, help="words, separated by commas")
    parser.add_argument("--width", type=int, default=20)
    args = parser.parse_args()
    row = "#".join(args.words.split(","))
    if len(row) > args.width:
        raise SystemExit(f"{len(row)} squares do not fit into {args.width}")
    print(row.ljust(args.width, "#"))


if __name__ == "__main__":
    main()
'''

HARBOUR = """\
the tide comes and the tide goes and the boats lie in the mud
when the tide comes the boats rise and the boats go out to the sea
"""

FILES = {
    "README.md": README,
    "LICENSE": "MIT License\n\nCopyright (c) the benchwright authors\n",
    "grind.py": GRIND,
    "hangman.py": HANGMAN,
    "row.py": ROW,
    "samples/harbour.txt": HARBOUR,
}


def make(workspace: Workspace) -> list[Candidate]:
    """The repository as a real one beside the workspace's files, registered and curated; its candidates."""
    folder = workspace.root / "sources" / "wordmill"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with git.Repo.init(folder, initial_branch="main") as repository:
        repository.git.add("--all")
        author = git.Actor("The benchwright authors", "tests@benchwright.example")
        commit = repository.index.commit("Publish", author=author, committer=author, skip_hooks=True).hexsha
    mirrors = (mirror_of(workspace),)
    add(workspace, URL, commit, name="wordmill", mirrors=mirrors)
    for done in curate(workspace, mirrors=mirrors, reporter=Reporter(quiet=True)):
        assert done.error is None, done.error
    with workspace.open_store() as store:
        return list(store.candidates())


def mirror_of(workspace: Workspace) -> str:
    """Where the repository is read from: nothing is fetched from its address."""
    return f"file://{workspace.root}/sources/{{name}}"
