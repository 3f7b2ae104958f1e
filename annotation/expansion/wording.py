"""Instructions: the person's own with other values in their places, or sentences of ours that state every value.

Sentences of ours name arguments as people say them and give the README's heading; they hold no flag and no path.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from ...core.models import Task
from ...validators.arguments.programs import GENERIC, normal
from ...validators.arguments.values import FALSE, TRUE, number, text
from .seeds import Variation

__all__ = ["in_own_words", "instruction_of", "spoken", "title_of"]

LONGEST_TITLE = 70
_SPOKEN = {
    "lr": "learning rate",
    "wd": "weight decay",
    "bs": "batch size",
    "num": "number of",
    "n": "number of",
    "nb": "number of",
    "dim": "dimension",
    "hid": "hidden",
    "max": "maximum",
    "min": "minimum",
    "prob": "probability",
    "seq": "sequence",
    "len": "length",
    "img": "image",
    "emb": "embedding",
    "embed": "embedding",
    "dir": "folder",
    "data": "dataset",
    "pyfile": "script",
    "bashfile": "script",
    "gpu": "GPU",
    "id": "ID",
}
_TEMPLATES = (
    "Please write the {kind} for {subject}, with {held}.",
    "I want to try {subject}: {imperative}. What {kind} do I need?",
    "Following {subject}, {imperative}. Give me the {kind} for it.",
    "Using {roles}, I would like to run what {subject} describes. Write the {kind}.",
    "How can I run {subject} with {held}? Please answer with the {kind}.",
    "My experiment builds on {subject}. It needs {held}. Could you write the {kind}?",
    "Write the {kind} that runs {subject} and uses {roles}.",
    "For {subject} I have decided on these settings: {plain}. Please turn them into the {kind}.",
    "We are comparing settings of {subject}. The next one has {held}. Which {kind} runs it?",
    "Take {subject} as the starting point, and then {imperative}. The answer should be the {kind}.",
    "I need the {kind} to run {subject}. My choice is {roles}.",
    "Could you help me with {subject}? I plan to use {roles}, and I need the {kind} for that.",
)
_ADDITIONS = (
    "In addition, {imperative}.",
    "Please also use {roles}.",
    "Besides, I want {held}.",
)
_TITLE_OF_CODE = re.compile(r"[`<>$#|!{}=\\]|--|\.\w{1,5}\b|https?:|[.:,;]\s*$")


def instruction_of(variation: Variation, title: str, dice: Random, *, own_words: bool) -> str:
    """An instruction for the variation: with ``own_words`` half of the time in the person's, where those allow it.

    ``title`` is what the task stands under, as :func:`title_of` gives it.
    """
    if own_words and dice.random() < 0.5:
        own = in_own_words(variation, dice)
        if own is not None:
            return own
    return _from_template(variation, title, dice)


def in_own_words(variation: Variation, dice: Random) -> str | None:
    """The person's instruction with the new values in the old ones' places, and a sentence for what is added.

    None where an old value does not stand exactly once in it as a whole, or stands for two arguments.
    """
    before = variation.seed.example.arguments
    told = variation.seed.example.instruction.strip()
    places: list[tuple[int, int, str]] = []
    for name, value in variation.changed.items():
        old = text(before[name]).strip()
        if not old or sum(text(other).strip().lower() == old.lower() for other in before.values()) > 1:
            return None
        found = list(re.finditer(rf"(?<![\w.+-]){re.escape(old)}(?![\w%]|[.,:-]\w)", told, re.IGNORECASE))
        if len(found) != 1 or len(re.findall(re.escape(old), told, re.IGNORECASE)) != 1:
            return None
        places.append((found[0].start(), found[0].end(), text(value)))
    for start, end, word in sorted(places, reverse=True):
        told = told[:start] + word + told[end:]
    if variation.added:
        stop = "" if told.endswith((".", "?", "!")) else "."
        told = f"{told}{stop} {_filled(dice.choice(_ADDITIONS), variation.added, dice)}"
    return told


def _from_template(variation: Variation, title: str, dice: Random) -> str:
    """A sentence of ours that states every argument."""
    task, arguments = variation.seed.task, variation.arguments
    kind = "Python code" if variation.seed.example.type == "Python Code" else dice.choice(("command", "script"))
    generic = {name: value for name, value in arguments.items() if _is_generic(name, value)}
    spoken_of = {name: value for name, value in arguments.items() if name not in generic}
    template = dice.choice(_TEMPLATES)
    told = _filled(template, spoken_of, dice, kind=kind, subject=_subject(task, title))
    if generic:
        told += f" It is about {_listed(text(value) for value in generic.values())}."
    return told


def _subject(task: Task, title: str) -> str:
    """What is to be run, in words that need no file's name."""
    repository = task.repository.name
    folder = posixpath.basename(posixpath.normpath(task.path or "."))
    if title:
        return f"“{title}” in {f'the {folder} folder' if folder != '.' else 'the README'} of {repository}"
    return f"the {folder} example of {repository}" if folder != "." else f"the documented example of {repository}"


def _is_generic(name: str, value: Any) -> bool:
    """Whether the argument's name says nothing: ``argument2``."""
    return GENERIC.fullmatch(normal(name)) is not None and bool(text(value).strip())


def _filled(template: str, arguments: Mapping[str, Any], dice: Random, **words: str) -> str:
    pairs = list(arguments.items())
    dice.shuffle(pairs)
    return template.format(
        held=_each(pairs, lambda name, value: f"the {name} set to {value}", "the {} {}"),
        imperative=_imperative(pairs),
        roles=_each(pairs, lambda name, value: f"{value} as the {name}", "the {} {}"),
        plain=_each(pairs, lambda name, value: f"{name} {value}", "{} {}"),
        **words,
    )


def _imperative(pairs: Sequence[tuple[str, Any]]) -> str:
    """``set the rate to 0.1 and the width to 64, and switch the cache on``."""
    given = [f"the {spoken(name)} to {text(value)}" for name, value in pairs if not _is_switch(value)]
    switched = [f"the {spoken(name)} {_state(value)}" for name, value in pairs if _is_switch(value)]
    parts = [f"{verb} {_listed(said)}" for verb, said in (("set", given), ("switch", switched)) if said]
    return ", and ".join(parts) or "keep to what the README gives"


def _each(pairs: Sequence[tuple[str, Any]], said: Callable[[str, str], str], switched: str) -> str:
    return _listed(
        switched.format(spoken(name), _state(value))
        if _is_switch(value)
        else said(spoken(name), text(value))
        for name, value in pairs
    ) or "the settings of the README"  # fmt: skip


def _is_switch(value: Any) -> bool:
    word = text(value).strip().lower()
    return isinstance(value, bool) or not word or (number(value) is None and word in TRUE | FALSE)


def _state(value: Any) -> str:
    return "off" if text(value).strip().lower() in FALSE else "on"


def _listed(parts: Iterable[str]) -> str:
    words = list(parts)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def spoken(name: str) -> str:
    """An argument's name as one says it: ``num_train_steps`` is the number of train steps, ``d_model`` itself."""
    if re.search(r"(?:^|_)[^n\W_](?:$|_)", name, re.IGNORECASE):
        return name
    if name.lower() in ("epoch", "epochs"):
        return "number of epochs"
    words = [_SPOKEN.get(word.lower(), word) for word in re.split(r"[\W_]+", name) if word]
    if len(words) > 1 and words[-1] == "number of":
        words = ["number of", *words[:-1]]
    if words == ["number of"]:
        words = ["number"]
    return " ".join(words) or name


def title_of(task: Task, oracle: str) -> str:
    """The heading the task stands under; empty where there is none that one could say."""
    first = next((line.strip(" #*_\t") for line in oracle.splitlines() if line.strip(" #*_\t")), "")
    for title in (*reversed(task.source.heading if task.source else ()), first):
        plain = " ".join(title.split())
        if re.search(r"[A-Za-z]{3}", plain) and len(plain) <= LONGEST_TITLE and not _TITLE_OF_CODE.search(plain):
            return plain
    return ""
