"""Two thousand examples of 170 tasks, made by chance from a seed, and near-duplicates planted among them.

Scripts, flags and sentences are our own. What is hard is in it on purpose: tasks of one script that differ in a mode,
scripts that share their flags, sentences that tasks share, values that recur.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from benchwright.export.rows import Row

REPOSITORIES, TASKS, EXAMPLES = 18, 170, 2000
FLAGS = {
    "lr": ["0.1", "0.01", "0.001", "0.0005", "0.02"],
    "epochs": ["3", "10", "25", "100", "300"],
    "batch-size": ["8", "16", "32", "64", "128"],
    "dropout": ["0.1", "0.25", "0.5"],
    "hidden": ["64", "128", "256", "512"],
    "seed": ["0", "1", "7", "42"],
    "dataset": ["cora", "pubmed", "ogb", "zinc", "moses", "ppi"],
    "data-path": ["./data", "/mnt/sets/a", "~/corpus", "inputs/raw"],
    "output-dir": ["out", "results/run1", "/tmp/models"],
    "layers": ["2", "4", "6", "12"],
    "model": ["gcn", "gat", "sage", "unet", "resnet"],
    "weight-decay": ["0.0", "0.0001", "0.05"],
    "device": ["cpu", "cuda:0", "cuda:1"],
    "optimizer": ["adam", "sgd", "lamb"],
    "warmup": ["100", "500", "2000"],
}
WORDS = ["train", "evaluate", "finetune", "sample", "export", "convert", "predict", "distill", "pretrain", "segment"]
OPENINGS = [
    "Please {verb} the {thing} of {repository}",
    "I would like you to {verb} the {thing} with the code of {repository}",
    "Write a command that will {verb} {repository}'s {thing}",
    "Our group needs to {verb} the {thing}",
    "Show me how to {verb} the {thing} that {repository} ships",
    "Kindly {verb} that {thing} for tomorrow's meeting",
]
SAYINGS = ["with {name} {value}", "setting {name} to {value}", "use {value} as the {name}", "{name} being {value}"]
OTHER_OPENINGS = [
    "Could somebody get this going for me: the {thing} has to be put through {verb}",
    "What is wanted is a run of {verb} on the {thing}; mind the following",
    "For an experiment we must {verb} a {thing}, configured like this",
]
OTHER_SAYINGS = ["the {name} shall equal {value}", "choose {value} for {name}", "{value} is the right {name}"]


@dataclass(frozen=True)
class Made:
    """The rows, and the pairs of tasks that are nearly the same: original and planted."""

    rows: list[Row]
    planted: list[tuple[str, str]]


@dataclass(frozen=True)
class _Task:
    number: int
    repository: int
    script: str
    thing: str
    verb: str
    flags: tuple[str, ...]
    mode: str | None
    python: bool

    @property
    def id(self) -> str:
        return f"repository{self.repository}/task-{self.number}"


def make(seed: int = 5, planted: int = 80, count: int = TASKS, examples: int = EXAMPLES) -> Made:
    """The examples, and ``planted`` more, each a near-duplicate of one of them in a task of its own."""
    chance = random.Random(seed)
    tasks = [_task(chance, number) for number in range(count)]
    rows = [_row(chance, tasks[number % count], number + 1) for number in range(examples)]
    pairs = []
    for at, row in enumerate(chance.sample(rows, planted)):
        task = tasks[(row.id - 1) % count]
        name = f"repository{task.repository}/planted-{at}"
        rows.append(_near(chance, task, row, examples + at + 1, name))
        pairs.append((task.id, name))
    return Made(rows, pairs)


def _task(chance: random.Random, number: int) -> _Task:
    verb = chance.choice(WORDS)
    # every fourth task shares its script with others of its repository, and differs in a mode
    shared = number % 4 == 0
    script = f"tools/{verb}.py" if shared else f"tools/{verb}_{number}.py"
    return _Task(
        number=number,
        repository=number % REPOSITORIES,
        script=script,
        thing=chance.choice(
            ["graph network", "language model", "image encoder", "tokenizer", "baseline", "score model"]
        ),
        verb=verb,
        flags=tuple(chance.sample(sorted(FLAGS), chance.randint(3, 7))),
        mode=f"variant-{number}" if shared else None,
        python=number % 5 == 1,
    )


def _row(chance: random.Random, task: _Task, number: int) -> Row:
    values = [(name, chance.choice(FLAGS[name])) for name in task.flags]
    if task.mode:
        values.append(("mode", task.mode))
    words = chance.choice(OPENINGS).format(verb=task.verb, thing=task.thing, repository=f"repository{task.repository}")
    said = ", ".join(chance.choice(SAYINGS).format(name=name, value=value) for name, value in values)
    return Row(
        github_id=task.repository + 1,
        github=f"https://example.org/made/repository{task.repository}",
        repo_id=number,
        path="./",
        arguments="{}",
        instruction=f"{words}, {said}.",
        oracle=f"Run {task.script}.\n",
        type="Python Code" if task.python else "Bash Script",
        id=number,
        prefix_code="",
        output=_python(task, values) if task.python else _shell(task, values),
        license="MIT",
        task_id=task.id,
    )


def _shell(task: _Task, values: list[tuple[str, str]]) -> str:
    return f"python {task.script} " + " ".join(f"--{name} {value}" for name, value in values)


def _python(task: _Task, values: list[tuple[str, str]]) -> str:
    module = task.script.removesuffix(".py").replace("/", ".")
    given = ", ".join(f"{name.replace('-', '_')}={value!r}" for name, value in values)
    return f"from {module} import run\n\nresult = run({given})\nprint(result)\n"


def _near(chance: random.Random, task: _Task, row: Row, number: int, name: str) -> Row:
    """The same command or snippet: flags in another order, numbers written otherwise, other words around them.

    Every second one also has something more: a variable before the command, or one more flag.
    """
    values = _values(task, row)
    chance.shuffle(values)
    opening = chance.choice(OTHER_OPENINGS).format(verb=task.verb, thing=task.thing)
    said = "; ".join(chance.choice(OTHER_SAYINGS).format(name=key, value=value) for key, value in values)
    more = chance.choice(["", "", "variable", "flag"])
    if more == "flag":
        values.append(("verbose", "1"))
    if task.python:
        output = _python(task, values)
    else:
        parts = [
            f"--{key}={_rewritten(value)}" if chance.random() < 0.5 else f"--{key} {value}" for key, value in values
        ]
        variable = "CUDA_VISIBLE_DEVICES=0 " if more == "variable" else ""
        output = f"{variable}python {task.script} \\\n  " + " \\\n  ".join(parts)
    return replace(
        row,
        id=number,
        repo_id=number,
        task_id=name,
        instruction=f"{opening}: {said}.",
        output=output,
        oracle="Other.\n",
    )


def _values(task: _Task, row: Row) -> list[tuple[str, str]]:
    if not task.python:
        words = row.output.split()[2:]
        return [(words[at].removeprefix("--"), words[at + 1]) for at in range(0, len(words), 2)]
    given = row.output.split("run(", 1)[1].split(")", 1)[0]
    pairs = (part.split("=", 1) for part in given.split(", "))
    return [(name.replace("_", "-"), value.strip("'")) for name, value in pairs]


def _rewritten(value: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return value
    return f"{number:e}" if "." in value else value
