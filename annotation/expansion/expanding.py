"""``tasks expand``: further examples for accepted tasks, up to a number each, every one through the gate.

The same tasks, repositories, number and seed give the same examples. A task that has the number already gets none, so
a second run adds nothing; a larger number adds to what is there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

from ...core.errors import BenchwrightError
from ...core.files import atomic_write, canonical_json
from ...core.models import Argument, Candidate, Example, Repository
from ...core.progress import Reporter
from ...core.tasks import TaskFolder, load_tasks, next_example_id, write_task
from ...core.workspace import Workspace
from ...curation.source import PinnedTree, open_tree
from .gate import Gate, training_splits
from .seeds import Seed, Variation, read_seed, variations
from .wording import instruction_of, title_of
from .writing import Writer

__all__ = ["Expansion", "expand"]

MOST_ROUNDS = 8
"""Times that what the gate refused is drawn anew."""
PHRASINGS = 4
"""Times that values are said again in other words, where there are too few combinations of them."""


@dataclass
class Expansion:
    """What was added, by task, and what was not, with the reasons."""

    added: dict[str, int] = field(default_factory=dict)
    had: dict[str, int] = field(default_factory=dict)
    """Examples that earlier runs made."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Tasks without an example to start from."""
    refused: Counter[str] = field(default_factory=Counter)
    """Drafts that a rule refused."""

    def value(self) -> dict[str, Any]:
        """The report for machines."""
        refused = dict(sorted(self.refused.items()))
        return {"added": self.added, "had": self.had, "skipped": self.skipped, "refused": refused}

    def lines(self, count: int) -> list[str]:
        """The report for a person."""
        lines = [f"{sum(self.added.values())} examples added to {sum(n > 0 for n in self.added.values())} tasks"]
        for task, number in self.added.items():
            whole = number + self.had[task]
            short = f", {count - whole} fewer than asked: no more combinations pass" if whole < count else ""
            lines += [f"  {task}: {number} added, {self.had[task]} were there{short}"]
        lines += [f"  not expanded: {task}: {reason}" for task, reason in self.skipped.items()]
        lines += [f"  drafts refused by {rule}: {number}" for rule, number in sorted(self.refused.items())]
        return [*lines, "next: benchwright validate"] if any(self.added.values()) else lines


def expand(
    workspace: Workspace,
    names: Iterable[str],
    count: int,
    *,
    seed: int = 0,
    mirrors: Sequence[str] = (),
    writer: Writer | None = None,
    reporter: Reporter | None = None,
) -> Expansion:
    """Bring the tasks ``names`` (all without any) to ``count`` made examples each, in the words of ``writer`` if given.

    Each task is written when it is finished.

    Raises:
        BenchwrightError: no such task, its repository is not at hand, or the writer cannot be asked.
    """
    reporter = reporter or Reporter(quiet=True)
    done = Expansion()
    with workspace.lock():
        everything = load_tasks(workspace)
        wanted = {item.task.id for item in load_tasks(workspace, names)}
        by_repository: dict[str, list[TaskFolder]] = defaultdict(list)
        for item in everything:
            by_repository[item.task.repository.name].append(item)
        registered = {repository.name: repository for repository in workspace.repositories()}
        candidates = _candidates(workspace)
        with reporter.track("expanding", len(wanted)) as advance:
            for name, items in by_repository.items():
                chosen = [item for item in items if item.task.id in wanted]
                if not chosen:
                    continue
                repository = _pinned(registered.get(name), chosen)
                with closing(open_tree(repository, workspace.clones_dir, mirrors)) as tree:
                    gate = Gate(workspace, repository, tree, items)
                    number = next_example_id(everything, chosen[0].task.repository.github_id)
                    others = _Others(tree, items, candidates.get(name, []))
                    for item in chosen:
                        fresh = _expanded(item, number, count, seed, gate, others, writer, done)
                        number += len(fresh)
                        _write(workspace, item, fresh)
                        advance(f"{item.task.id}: {len(fresh)} added")
    return done


def _candidates(workspace: Workspace) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = defaultdict(list)
    if (workspace.private_dir / "state.db").exists():
        with closing(workspace.open_store()) as store:
            for candidate in store.candidates():
                found[candidate.repository.name].append(candidate)
    return found


def _pinned(repository: Repository | None, items: Sequence[TaskFolder]) -> Repository:
    """The repository at the commit its tasks were accepted at."""
    task = items[0].task
    if repository is None:
        raise BenchwrightError(
            f"the repository {task.repository.name} is not registered",
            where=task.id,
            remedy=f"benchwright repos add {task.repository.url} --commit {task.repository.commit}",
        )
    commits = {item.task.repository.commit for item in items}
    if len(commits) > 1:
        raise BenchwrightError(
            f"tasks of {repository.name} stand at {len(commits)} commits",
            where=task.id,
            remedy="expand those of one commit at a time, by name",
        )
    return repository.model_copy(update={"commit": task.repository.commit})


class _Others:
    """What other commands of the same script are given: candidates', and the accepted examples of all tasks."""

    def __init__(self, tree: PinnedTree, items: Sequence[TaskFolder], candidates: Sequence[Candidate]) -> None:
        self.tree = tree
        self._candidates = candidates
        self._items = items

    def of(self, program: str | None) -> list[tuple[Argument, ...]]:
        """The arguments of each; none where it is not known which program is meant."""
        if program is None:
            return []
        return [c.arguments for c in self._candidates if c.entry_point.target == program] + self._accepted[program]

    @property
    def _accepted(self) -> dict[str, list[tuple[Argument, ...]]]:
        if not hasattr(self, "_known"):
            self._known: dict[str, list[tuple[Argument, ...]]] = defaultdict(list)
            for item in self._items:
                for example in _written_by_people(item):
                    script = read_example(item, example, self.tree)
                    if script is not None:
                        self._known[script[0]].append(script[1])
        return self._known


def read_example(item: TaskFolder, example: Example, tree: PinnedTree) -> tuple[str, tuple[Argument, ...]] | None:
    """The program an example starts, with its arguments; None where that is not one known program."""
    from .scripts import read_script

    if example.type != "Bash Script":
        return None
    script = read_script(example.output, item.task.path, example.prefix_code or item.task.prefix_code, tree)
    return (script.bound.path, script.arguments) if script is not None and script.bound.path else None


def _written_by_people(item: TaskFolder) -> list[Example]:
    return [example for example in item.examples if not example.machine_written and example.yanked is None]


def _expanded(
    item: TaskFolder,
    number: int,
    count: int,
    seed: int,
    gate: Gate,
    others: _Others,
    writer: Writer | None,
    done: Expansion,
) -> list[Example]:
    """The new examples of one task, numbered from ``number``."""
    had = sum(example.machine_written for example in item.examples)
    seeds, reasons = _seeds(item, gate, others)
    if not seeds:
        done.skipped[item.task.id] = "; ".join(dict.fromkeys(reasons)) or "no example that a person wrote stands in it"
        return []
    done.had[item.task.id] = had
    fresh: list[Example] = []
    drafts = _drafts(item, seeds, gate, Random(canonical_json([seed, item.task.id])))  # noqa: S311 (no secret)
    for _ in range(MOST_ROUNDS):
        proposed = list(islice(drafts, max(0, count - had - len(fresh))))
        if not proposed:
            break
        if writer is not None:
            proposed = writer.rewritten(item, proposed, done.refused)
        fresh += gate.passed(item, proposed, number + len(fresh), done.refused)
    done.added[item.task.id] = len(fresh)
    return fresh


def _seeds(item: TaskFolder, gate: Gate, others: _Others) -> tuple[list[Seed], list[str]]:
    seeds: list[Seed] = []
    reasons: list[str] = []
    for example in _written_by_people(item):
        if broken := gate.error_of(example):
            reasons.append(f"example {example.id} breaks {broken}: benchwright check says where")
            continue
        read = read_example(item, example, others.tree)
        found = read_seed(item.task, example, others.tree, others.of(read[0] if read else None))
        if isinstance(found, str):
            reasons.append(found)
        else:
            seeds.append(found)
    return seeds, reasons


def _drafts(item: TaskFolder, seeds: Sequence[Seed], gate: Gate, dice: Random) -> Iterator[Example]:
    """Examples of all seeds by turns, without those that are there already; ids are not set.

    First every combination of values once, then, where those do not suffice, the same and the seeds' own values in
    other words.
    """
    title = title_of(item.task, item.oracle)
    there = {(example.output, canonical_json(example.arguments)) for example in item.examples}
    made = [Variation(seed, {}, {}, seed.example.output) for seed in seeds]
    for variation in _by_turns([variations(seed, dice) for seed in seeds]):
        key = (variation.output, canonical_json(variation.arguments))
        if key not in there:
            there.add(key)
            made.append(variation)
            own = gate.says_all(variation.seed.example)
            yield _example(variation, instruction_of(variation, title, dice, own_words=own))
    said = {example.instruction for example in item.examples}
    for _ in range(PHRASINGS):
        for variation in made:
            instruction = instruction_of(variation, title, dice, own_words=False)
            if instruction not in said:
                said.add(instruction)
                yield _example(variation, instruction)


def _by_turns(streams: list[Iterator[Variation]]) -> Iterator[Variation]:
    while streams:
        for stream in list(streams):
            variation = next(stream, None)
            if variation is None:
                streams.remove(stream)
            else:
                yield variation


def _example(variation: Variation, instruction: str) -> Example:
    seed = variation.seed.example
    return Example(
        id=0,
        type=seed.type,
        instruction=instruction,
        arguments=variation.arguments,
        prefix_code=seed.prefix_code,
        output=variation.output,
        machine_written=True,
    )


def _write(workspace: Workspace, item: TaskFolder, fresh: Sequence[Example]) -> None:
    """Write the task, and put its made examples into the training splits that hold it."""
    every = [*item.examples, *fresh]
    if fresh:
        write_task(workspace, item.task, item.oracle, every)
    names = [f"{item.task.repository.name}/{e.id}" for e in every if e.machine_written and e.yanked is None]
    for split in training_splits(workspace, item):
        path = workspace.splits_dir / f"{split}.txt"
        listed = path.read_text("utf-8").splitlines()
        new = [name for name in names if name not in set(listed)]
        if new:
            atomic_write(path, "".join(f"{line}\n" for line in (*listed, *new)))
