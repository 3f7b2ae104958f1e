"""Whether what published rows vary has a place in the curated candidates: a slot of the same flag, or in the snippet.

    python tests/benchmarks/slots.py --workspace bench --rows rows.jsonl

The workspace holds the preset's repositories, curated. For each row the candidate is taken that is most like its
output, among those of its repository and type (and script, where one is named). A value has a place where the row's
command gives it to a flag that the candidate's arguments name; where it stands in the row's output for something that
the candidate's text has, too (aligned token by token); or where the row assigns it, before the command, to a variable
that the candidate's command uses. What has its place only in the README segment shown beside the snippet, in another
block of the same section, is counted apart. Exits with 1 below nine rows in ten.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from benchwright.core.models import Candidate
from benchwright.core.workspace import Workspace

WANTED = 0.9
TOKEN = re.compile(r"--?[A-Za-z][\w-]*|[\w./]+|[^\w\s]")
SCRIPT = re.compile(r"[\w-]+\.(?:py|sh)\b")
OPTION = re.compile(r"(?<!\S)(--?[A-Za-z][\w-]*)(?:[= ]+((?:(?!-[A-Za-z-])\S+\s*)+))?")


def plain(text: Any) -> str:
    return re.sub(r"[\s_\"'-]", "", str(text)).lower()


def similar(candidate: Candidate, output: str) -> float:
    return SequenceMatcher(None, TOKEN.findall(candidate.output), TOKEN.findall(output), autojunk=False).ratio()


def chosen(row: dict[str, Any], candidates: list[Candidate]) -> Candidate | None:
    same = [candidate for candidate in candidates if candidate.type == row["type"]]
    scripts = set(SCRIPT.findall(row["output"])) if row["type"] == "Bash Script" else set()
    if scripts:
        same = [candidate for candidate in same if scripts & set(SCRIPT.findall(candidate.output))] or [
            candidate for candidate in same if any(word in candidate.entry_point.target for word in scripts)
        ]
    folder = str(row["path"]).strip("./")
    return max(same, key=lambda c: (similar(c, row["output"]), c.path.strip("./") == folder, c.id), default=None)


def aligned(shown: str, output: str) -> set[str]:
    """The words of ``output`` that stand where the text shown has a word, the same or another."""
    ours, theirs = TOKEN.findall(shown), TOKEN.findall(output)
    found: set[str] = set()
    for kind, _, _, start, end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind in ("equal", "replace"):
            found.update(map(plain, theirs[start:end]))
            found.add(plain("".join(theirs[start:end])))
    return found


def has_flag(key: str, value: Any, row: dict[str, Any], candidate: Candidate) -> bool:
    flags = {plain(name) for a in candidate.arguments for name in (a.name, a.flag) if name}
    given = {plain(option): plain(words or "True") for option, words in OPTION.findall(row["output"])}
    return plain(key) in flags or any(
        option in flags and (plain(value) in words or plain(value) == option) for option, words in given.items()
    )


def has_variable(value: Any, row: dict[str, Any], candidate: Candidate) -> bool:
    """Whether the row assigns the value, or the folder it ends in, to a variable that the candidate's command uses."""
    assigned = dict(re.findall(r"\b([A-Z]\w+)=(\S+)", row["prefix_code"].replace("\\n", "\n")))
    last = str(value).rstrip("/").rpartition("/")[2]
    return any(last and last in text and f"${name}" in candidate.output for name, text in assigned.items())


def has_place(value: Any, row: dict[str, Any], shown: str) -> bool:
    beside = aligned(shown, row["output"])
    words = [plain(word) for word in TOKEN.findall(str(value)) if plain(word)]
    return bool(words) and (plain(value) in plain(shown) or all(word in beside for word in words))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workspace", type=Path, required=True)
    options.add_argument("--rows", type=Path, required=True)
    given = options.parse_args()
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    with Workspace(given.workspace).open_store() as store:
        for candidate in store.candidates():
            candidates[candidate.repository.github_id].append(candidate)
    rows = [json.loads(line) for line in given.rows.read_text("utf-8").splitlines()]
    good: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in rows:
        of = f"{row['github'].rpartition('/')[2]}, {row['type'].split()[0]}"
        total[of] += 1
        candidate = chosen(row, candidates[int(row["github_id"])])
        where = f"{of} {row['id']}"
        if candidate is None:
            print(f"{where}: no candidate of its script: {' '.join(row['output'].split())[:100]}")
            continue
        section = "\n".join(scope.text for scope in candidate.oracle_scopes)
        missing, apart = [], False
        for key, value in ast.literal_eval(row["arguments"]).items():
            if has_flag(key, value, row, candidate) or has_variable(value, row, candidate):
                continue
            if not has_place(value, row, candidate.output):
                apart = True
                if not has_place(value, row, section):
                    missing.append(f"{key}={value}")
        good[of] += not apart
        beside[of] += apart and not missing
        if apart:
            print(f"{where}: {candidate.id}: {'no place for ' + ', '.join(missing) if missing else 'beside'}"[:160])
    for of in sorted(total):
        print(f"{of}: {good[of]} of {total[of]}, {beside[of]} more in the README segment beside the snippet")
    share = (good.total() + beside.total()) / len(rows)
    print(f"in the snippet or its flags {good.total()} of {len(rows)} rows: {good.total() / len(rows):.3f}")
    print(f"with the README segment shown beside it: {share:.3f}, wanted {WANTED}")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
