"""argparse's way of reading words, step for step: which word is an option, which are its values, what is left.

The algorithm is that of CPython's ``argparse`` (3.11), where words are classed as options ``O`` and arguments ``A``
and a regular expression for each ``nargs`` takes its share; here it goes on after a mistake and records it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .bound import Binding, Problem, check_choice, convert
from .report import Flag, FlagReport

__all__ = ["ArgparseBinder"]

_NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")
_PATTERNS = {"?": "(-*A?-*)", "*": "(-*[A-]*)", "+": "(-*A[A-]*)", "...": "([-AO]*)", "A...": "(-*A[-AO]*)"}
Option = tuple[Flag | None, str, str | None]
"""The flag (None: unknown), its option string, and the value behind ``=`` or behind a single letter."""


class ArgparseBinder:
    """Binds one command's words."""

    def __init__(self, report: FlagReport, argv: list[str]) -> None:
        self.report = report
        self.argv = argv
        self.binding = Binding()
        self.by_option = {option: flag for flag in report.flags for option in flag.options}
        self.positionals = [flag for flag in report.flags if not flag.options]
        self.negative_like = any(_NEGATIVE.match(option) for option in self.by_option)
        self.seen: set[str] = set()
        self.options: dict[int, Option] = {}
        self.pattern = self.classify()

    # Classing words

    def classify(self) -> str:
        pattern = ""
        for index, word in enumerate(self.argv):
            if word == "--":
                return pattern + "-" + "A" * (len(self.argv) - index - 1)
            option = self.option_of(word)
            if option is not None:
                self.options[index] = option
            pattern += "A" if option is None else "O"
        return pattern

    def option_of(self, word: str) -> Option | None:
        """The option a word is, if it is one."""
        if not word or word[0] not in self.report.prefix_chars:
            return None
        if word in self.by_option:
            return self.by_option[word], word, None
        if len(word) == 1:
            return None
        if "=" in word:
            option, value = word.split("=", 1)
            if option in self.by_option:
                return self.by_option[option], option, value
        found = self.abbreviated(word)
        if len(found) > 1:
            shown = ", ".join(option for _, option, _ in found)
            self.problem("ambiguous", word, None, f"could be {shown}")
            return None, word, None
        if found:
            flag, option, _ = found[0]
            if flag is not None and option != word and len(option) > 2:
                self.problem("ok_abbreviation", word, flag.argument.name, f"short for {option}")
            return found[0]
        if _NEGATIVE.match(word) and not self.negative_like:
            return None
        return None if " " in word else (None, word, None)

    def abbreviated(self, word: str) -> list[Option]:
        """Every option that ``word`` can be the beginning of."""
        chars = self.report.prefix_chars
        if word[1] in chars:
            if not self.report.allow_abbrev:
                return []
            prefix, sign, behind = word.partition("=")
            return [
                (flag, option, behind if sign else None)
                for option, flag in self.by_option.items()
                if option.startswith(prefix)
            ]
        found: list[Option] = []
        for option, flag in self.by_option.items():
            if option == word[:2]:
                found.append((flag, option, word[2:]))
            elif option.startswith(word):
                found.append((flag, option, None))
        return found

    # Consuming

    def bind(self) -> Binding:
        start = 0
        last = max(self.options, default=-1)
        while start <= last:
            following = min(index for index in self.options if index >= start)
            if start != following:
                end = self.take_positionals(start)
                if end > start:
                    start = end
                    continue
            if start not in self.options:
                self.left_over(self.argv[start:following])
                start = following
            start = self.take_option(start)
        end = self.take_positionals(start)
        self.left_over(self.argv[end:])
        self.check_required()
        self.check_exclusive()
        return self.binding

    def take_option(self, start: int) -> int:
        """Read the option at ``start`` with its values; the index of the first word after it."""
        flag, option, explicit = self.options[start]
        if flag is None:
            self.unknown(start)
            return start + 1
        if explicit is not None:
            return self.take_explicit(start, flag, option, explicit)
        rest = self.pattern[start + 1 :]
        count = match_count(flag, rest)
        if count is None:
            count = len(re.match("A*", rest).group()) if flag.nargs not in (None, 0) else 0  # type: ignore[union-attr]
            self.problem("missing_value", option, flag.argument.name, f"{option} {expectation(flag)}")
            return start + 1 + count
        self.apply(flag, option, self.argv[start + 1 : start + 1 + count])
        return start + 1 + count

    def take_explicit(self, start: int, flag: Flag, option: str, explicit: str) -> int:
        """``--a=value``, ``-avalue``, or several letters in one word: ``-vvx``."""
        chars = self.report.prefix_chars
        while True:
            count = match_count(flag, "A")
            if count == 0 and option[1:2] not in chars and explicit != "":
                self.apply(flag, option, [])
                option = option[0] + explicit[0]
                following = self.by_option.get(option)
                if following is None:
                    message = f"{flag.options[0]} takes no value: {explicit!r}"
                    self.problem("unexpected_value", self.argv[start], flag.argument.name, message)
                    return start + 1
                flag, rest = following, explicit[1:]
                if not rest:
                    self.options[start] = (flag, option, None)
                    return self.take_option(start)
                explicit = rest.removeprefix("=") if rest.startswith("=") else rest
                continue
            if count == 1:
                self.apply(flag, option, [explicit])
            else:
                kind = "unexpected_value" if not count else "missing_value"
                message = f"{option} {expectation(flag)}"
                self.binding.problems.append(
                    Problem(
                        "unexpected_value" if kind == "unexpected_value" else "missing_value",
                        self.argv[start],
                        flag.argument.name,
                        message,
                    )
                )
            return start + 1

    def take_positionals(self, start: int) -> int:
        """Give the words from ``start`` on to as many positionals as they fill; the index after them."""
        for taken in range(len(self.positionals), 0, -1):
            patterns = "".join(nargs_pattern(flag) for flag in self.positionals[:taken])
            match = re.match(patterns, self.pattern[start:])
            if match is None:
                continue
            for flag, group in zip(self.positionals[:taken], match.groups(), strict=True):
                words = self.argv[start : start + len(group)]
                start += len(group)
                if flag.nargs not in ("...", "A...") and "--" in words:
                    words.remove("--")
                self.apply(flag, None, words)
            del self.positionals[:taken]
            break
        return start

    # Values

    def apply(self, flag: Flag, option: str | None, words: Sequence[str]) -> None:
        name = flag.argument.name
        self.seen.add(name if option is None else flag.options[0])
        if flag.action == "subcommand":
            self.descend(flag, list(words))
            return
        if flag.action in ("help", "version"):
            return
        value = self.value(flag, option, words)
        if option is None and not words and flag.nargs in ("?", "*"):
            return  # an empty positional leaves the default as it is
        self.binding.values[name] = value
        if option is not None:
            self.binding.options[name] = option

    def value(self, flag: Flag, option: str | None, words: Sequence[str]) -> Any:
        name, default = flag.argument.name, flag.argument.default
        held = self.binding.values.get(name, default)
        if flag.action == "store_true":
            return True
        if flag.action == "store_false":
            return False
        if flag.action == "boolean_optional":
            return option not in flag.negations
        if flag.action == "store_const":
            return flag.const
        if flag.action == "append_const":
            return [*(held if isinstance(held, list) else []), flag.const]
        if flag.action == "count":
            return (held if isinstance(held, int) else 0) + 1
        made = self.converted(flag, words)
        if flag.action == "append":
            return [*(held if isinstance(held, list) else []), made]
        if flag.action == "extend":
            return [*(held if isinstance(held, list) else []), *(made if isinstance(made, list) else [made])]
        return made

    def converted(self, flag: Flag, words: Sequence[str]) -> Any:
        problems = self.binding.problems
        if flag.nargs is None or flag.nargs == "?":
            if not words:
                return flag.const if flag.options else flag.argument.default
            value = convert(flag, words[0], problems)
            check_choice(flag, value, problems)
            return value
        values = [convert(flag, word, problems) for word in words]
        for value in values:
            check_choice(flag, value, problems)
        return values

    def descend(self, flag: Flag, words: list[str]) -> None:
        """A subcommand and everything behind it."""
        name, rest = words[0], words[1:]
        inner = self.report.subcommands.get(name)
        self.binding.values[flag.argument.name] = name
        if inner is None:
            shown = ", ".join(self.report.subcommands)
            if self.report.complete:
                self.problem("bad_choice", name, flag.argument.name, f"{name!r} is none of {shown}")
            self.left_over(rest)
            return
        bound = ArgparseBinder(inner, rest).bind()
        self.binding.values.update(bound.values)
        self.binding.options.update(bound.options)
        self.binding.problems.extend(bound.problems)
        self.binding.unknown.update(bound.unknown)
        self.binding.extras.extend(bound.extras)
        self.binding.subcommand = (name, *bound.subcommand)

    # Problems

    def problem(self, kind: Any, text: str, name: str | None, message: str) -> None:
        self.binding.problems.append(Problem(kind, text, name, message))

    def unknown(self, index: int) -> None:
        word = self.argv[index]
        self.binding.extras.append(word)
        if any(problem.kind == "ambiguous" and problem.text == word for problem in self.binding.problems):
            return
        following = re.match("A*", self.pattern[index + 1 :])
        count = len(following.group()) if following else 0
        option, sign, value = word.partition("=")
        self.binding.unknown[option] = [value] if sign else self.argv[index + 1 : index + 1 + count]
        kind = "ok_unknown" if self.report.accepts_unknown else "unknown_option"
        self.problem(kind, word, None, "the program has no such option")

    def left_over(self, words: Sequence[str]) -> None:
        behind_unknown = {word for words in self.binding.unknown.values() for word in words}
        for word in words:
            self.binding.extras.append(word)
            if word not in behind_unknown:
                kind = "ok_unknown" if self.report.accepts_unknown else "extra_positional"
                self.problem(kind, word, None, "the program takes no such word")

    def check_required(self) -> None:
        for flag in self.report.flags:
            key = flag.options[0] if flag.options else flag.argument.name
            if flag.argument.required and not flag.conditional and key not in self.seen:
                self.problem("missing_required", flag.argument.flag or key, flag.argument.name, "it must be given")

    def check_exclusive(self) -> None:
        """At most one flag of a mutually exclusive group, and exactly one where the group is required."""
        groups: dict[str, list[Flag]] = {}
        for flag in self.report.flags:
            if flag.exclusive is not None:
                groups.setdefault(flag.exclusive, []).append(flag)
        for flags in groups.values():
            shown = " ".join(flag.argument.flag or flag.argument.name for flag in flags)
            given = [flag for flag in flags if (flag.options or (flag.argument.name,))[0] in self.seen]
            if len(given) > 1:
                first, second = (flag.argument.flag or flag.argument.name for flag in given[:2])
                self.problem("exclusive", second, given[1].argument.name, f"{second} is not allowed with {first}")
            elif not given and flags[0].exclusive_required:
                self.problem("missing_required", shown, None, f"one of {shown} must be given")


def nargs_pattern(flag: Flag) -> str:
    """The regular expression over ``A``, ``O``, ``-`` for the words a flag takes."""
    nargs = flag.nargs if flag.takes_value else 0
    if isinstance(nargs, int):
        pattern = f"(-*{'-*'.join('A' * nargs)})" if nargs else "(-*-*)"
    else:
        pattern = _PATTERNS.get(nargs or "", "(-*A-*)")
    return pattern.replace("-*", "").replace("-", "") if flag.options else pattern


def match_count(flag: Flag, pattern: str) -> int | None:
    """How many words a flag takes from ``pattern``; None where there are too few."""
    match = re.match(nargs_pattern(flag), pattern)
    return None if match is None else len(match.group(1))


def expectation(flag: Flag) -> str:
    """What argparse would have wanted."""
    if not flag.takes_value:
        return "takes no value"
    words = {"": "one value", "?": "at most one value", "+": "at least one value"}
    wanted = words.get(str(flag.nargs or ""))
    return f"needs {wanted or f'{flag.nargs} values'}"
