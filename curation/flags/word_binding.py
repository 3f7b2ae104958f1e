"""How programs without argparse read words: absl, click and typer, getopt, fire, hydra, and bare positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .bound import Binding, Problem, ProblemKind, check_choice, convert
from .report import Flag, FlagReport

__all__ = ["WordBinder"]

_ABSL_OWN = frozenset(
    {
        "alsologtostderr",
        "logtostderr",
        "log_dir",
        "v",
        "verbosity",
        "stderrthreshold",
        "showprefixforinfo",
        "logger_levels",
    }
    | {"help", "helpfull", "helpshort", "helpxml", "flagfile", "undefok", "only_check_args", "pdb_post_mortem"}
    | {"run_with_pdb", "run_with_profiling", "profile_file", "use_cprofile_for_profiling"}
)
"""Flags that absl itself brings to every program."""


class WordBinder:
    """Binds one command's words by the rules of ``report.kind``."""

    def __init__(self, report: FlagReport, argv: Sequence[str]) -> None:
        self.report = report
        self.words = list(argv)
        self.binding = Binding()
        self.by_option = report.options
        self.flags = {flag.argument.name: flag for flag in report.flags}
        self.seen: set[str] = set()

    def bind(self) -> Binding:
        reader = {
            "absl": self.read_absl,
            "hydra": self.read_hydra,
            "fire": self.read_fire,
            "getopt": self.read_getopt,
            "click": self.read_click,
            "typer": self.read_click,
        }.get(self.report.kind, self.read_places)
        reader()
        return self.binding

    # Shared steps

    def problem(self, kind: ProblemKind, text: str, name: str | None, message: str) -> None:
        self.binding.problems.append(Problem(kind, text, name, message))

    def unknown(self, word: str, index: int) -> None:
        option, sign, value = word.partition("=")
        behind: list[str] = []
        for following in self.words[index + 1 :]:
            if following.startswith("-"):
                break
            behind.append(following)
        self.binding.unknown[option] = [value] if sign else behind
        self.binding.extras.append(word)
        kind: ProblemKind = "ok_unknown" if self.report.accepts_unknown else "unknown_option"
        self.problem(kind, word, None, "the program has no such option")

    def store(self, flag: Flag, option: str | None, value: str) -> None:
        """One value, converted and checked; several flags of the same name add up where they are meant to."""
        name = flag.argument.name
        problems = self.binding.problems
        made: Any
        if flag.argument.type == "list":
            made = [part.strip() for part in value.split(",")] if value else []
        elif flag.argument.type == "bool" and value.lower() not in _TRUTH:
            made = value
            self.problem("bad_value", value, name, f"{value!r} is no truth value")
        elif flag.argument.type == "bool":
            made = _TRUTH[value.lower()]
        else:
            made = convert(flag, value, problems)
            check_choice(flag, made, problems)
        if flag.action == "append":
            held = self.binding.values.get(name, [])
            made = [*held, made]
        self.put(flag, option, made)

    def put(self, flag: Flag, option: str | None, value: Any) -> None:
        self.seen.add(flag.argument.name)
        self.binding.values[flag.argument.name] = value
        if option is not None:
            self.binding.options[flag.argument.name] = option

    def place(self, words: Sequence[str]) -> None:
        """Give ``words`` to the positionals in order; a variadic one takes what the later ones leave."""
        flags = [flag for flag in self.report.flags if not flag.options and flag.action != "subcommand"]
        rest = list(words)
        for index, flag in enumerate(flags):
            later = sum(1 for other in flags[index + 1 :] if other.argument.required)
            if flag.nargs in ("*", "+", "..."):
                taken = rest[: len(rest) - later] if len(rest) > later else []
                rest = rest[len(taken) :]
                if taken:
                    values = [convert(flag, word, self.binding.problems) for word in taken]
                    self.put(flag, None, values)
            elif rest:
                self.store(flag, None, rest.pop(0))
        for word in rest:
            self.binding.extras.append(word)
            self.problem("extra_positional", word, None, "the program takes no such word")

    def check_required(self) -> None:
        for flag in self.report.flags:
            argument = flag.argument
            if argument.required and argument.name not in self.seen and flag.action != "subcommand":
                self.problem("missing_required", argument.flag or argument.name, argument.name, "it must be given")

    def descend(self, word: str, rest: Sequence[str]) -> None:
        """A subcommand and everything behind it."""
        inner = self.report.subcommands.get(word)
        name = next(flag.argument.name for flag in self.report.flags if flag.action == "subcommand")
        self.binding.values[name] = word
        if inner is None:
            if self.report.complete:
                shown = ", ".join(self.report.subcommands)
                self.problem("bad_choice", word, name, f"{word!r} is none of {shown}")
            return
        bound = WordBinder(inner, rest).bind()
        self.binding.values.update(bound.values)
        self.binding.options.update(bound.options)
        self.binding.unknown.update(bound.unknown)
        self.binding.problems.extend(bound.problems)
        self.binding.extras.extend(bound.extras)
        self.binding.subcommand = (word, *bound.subcommand)

    # absl

    def read_absl(self) -> None:
        index = 0
        while index < len(self.words):
            word = self.words[index]
            index += 1
            if word == "--" or not word.startswith("-") or not word.strip("-"):
                # absl hands everything from here on to main() unread.
                self.binding.extras.extend(self.words[index if word == "--" else index - 1 :])
                break
            name, sign, value = word.lstrip("-").partition("=")
            flag = self.absl_flag(name)
            negated = self.flags.get(name[2:]) if flag is None and name.startswith("no") else None
            if flag is not None and flag.action == "switch":
                self.store(flag, f"--{name}", value if sign else "true")
            elif flag is not None and (sign or index < len(self.words)):
                index += 0 if sign else 1
                self.store(flag, flag.argument.flag, value if sign else self.words[index - 1])
            elif flag is not None:
                self.problem("missing_value", word, flag.argument.name, f"{word} needs a value")
            elif negated is not None and negated.action == "switch":
                self.store(negated, f"--{name}", "false")
                if sign:
                    self.problem("unexpected_value", word, negated.argument.name, f"--{name} takes no value")
            elif name in _ABSL_OWN or name.removeprefix("no") in _ABSL_OWN:
                continue
            else:
                self.unknown(word, index - 1)
        self.check_required()

    def absl_flag(self, name: str) -> Flag | None:
        by_letter = self.by_option.get(f"-{name}") if len(name) == 1 else None
        return self.flags.get(by_letter or name)

    # hydra

    def read_hydra(self) -> None:
        """``key=value``; ``+key=value`` adds, ``~key`` removes, ``--config-name x`` and the like are hydra's own."""
        index = 0
        while index < len(self.words):
            word = self.words[index]
            index += 1
            key, sign, value = word.partition("=")
            if word.startswith("-"):
                has_value = word in ("--config-name", "--config-path", "--config-dir", "-cn", "-cp", "-cd", "--package")
                index += 1 if has_value else 0
                continue
            name = key.lstrip("+~")
            flag = self.flags.get(name) or self.flags.get(name.partition("@")[0])
            if flag is not None and sign:
                self.store_yaml(flag, value)
            elif not key.startswith(("+", "~")):
                self.unknown(word, index - 1)

    def store_yaml(self, flag: Flag, value: str) -> None:
        import yaml

        try:
            made = yaml.safe_load(value) if len(value) < 10_000 else value
        except yaml.YAMLError:
            made = value
        if flag.argument.choices is not None:
            check_choice(flag, made, self.binding.problems)
        self.put(flag, None, made)

    # fire

    def read_fire(self) -> None:
        """``--a=b``, ``--a b``, ``--a``, ``--noa``, and places for what has not been named."""
        index, loose = 0, []
        if self.report.subcommands and self.words and not self.words[0].startswith("-"):
            self.descend(self.words[0], self.words[1:])
            return
        while index < len(self.words):
            word = self.words[index]
            index += 1
            if not word.startswith("-") or word == "-" or word.lstrip("-")[:1].isdigit():
                loose.append(word)
                continue
            key, sign, value = word.lstrip("-").partition("=")
            flag = self.flags.get(key.replace("-", "_"))
            negated = self.flags.get(key[2:].replace("-", "_")) if flag is None and key.startswith("no") else None
            follows = index < len(self.words) and not self.words[index].startswith("--")
            if flag is not None and (sign or (follows and flag.action != "switch")):
                self.store(flag, f"--{flag.argument.name}", value if sign else self.words[index])
                index += 0 if sign else 1
            elif flag is not None:
                self.put(flag, f"--{flag.argument.name}", True)
            elif negated is not None:
                self.put(negated, word, False)
            else:
                self.unknown(word, index - 1)
        for flag in self.report.flags:
            if loose and flag.argument.name not in self.seen and flag.action != "subcommand":
                self.store(flag, None, loose.pop(0))
        for word in loose:
            self.problem("extra_positional", word, None, "the program takes no such word")
        self.check_required()

    # click, typer, getopt

    def read_click(self) -> None:
        loose: list[str] = []
        index = 0
        while index < len(self.words):
            word = self.words[index]
            index += 1
            if word == "--":
                loose.extend(self.words[index:])
                break
            if not word.startswith("-") or word == "-":
                if self.report.subcommands or any(flag.action == "subcommand" for flag in self.report.flags):
                    self.descend(word, self.words[index:])
                    break
                loose.append(word)
                continue
            index = self.take(word, index)
        else:
            if any(flag.action == "subcommand" and flag.argument.required for flag in self.report.flags):
                self.problem("missing_required", "COMMAND", None, "a command must be given")
        self.place(loose)
        self.check_required()

    def read_getopt(self) -> None:
        """Options end at the first word that is none; what follows is the program's own affair."""
        index = 0
        while index < len(self.words):
            word = self.words[index]
            if word == "--" or not word.startswith("-") or word == "-":
                self.binding.extras.extend(self.words[index + (word == "--") :])
                break
            if word.startswith("--"):
                word = self.written_out(word)
            index = self.take(word, index + 1)

    def written_out(self, word: str) -> str:
        """A long option that is shortened, as getopt allows."""
        key, sign, value = word.partition("=")
        matches = [option for option in self.by_option if option.startswith(key) and option.startswith("--")]
        if key in self.by_option or not matches:
            return word
        if len(matches) > 1:
            self.problem("ambiguous", word, None, f"could be {', '.join(matches)}")
            return word
        self.problem("ok_abbreviation", word, self.by_option[matches[0]], f"short for {matches[0]}")
        return f"{matches[0]}{sign}{value}"

    def take(self, word: str, index: int) -> int:
        """Read the option ``word``, whose values begin at ``index``; the index after them."""
        key, sign, value = word.partition("=")
        name = self.by_option.get(key)
        if name is not None and (sign == "" or key.startswith("--")):
            return self.take_values(self.flag_of(key), key, value if sign else None, index)
        if word.startswith("--") or len(word) < 2:
            self.unknown(word, index - 1)
            return index
        for place, letter in enumerate(word[1:], 1):
            option = f"-{letter}"
            if option not in self.by_option:
                self.unknown(word, index - 1)
                return index
            flag = self.flag_of(option)
            if flag.takes_value:
                return self.take_values(flag, option, word[place + 1 :] or None, index)
            self.take_values(flag, option, None, index)
        return index

    def flag_of(self, option: str) -> Flag:
        return next(flag for flag in self.report.flags if option in flag.options)

    def take_values(self, flag: Flag, option: str, explicit: str | None, index: int) -> int:
        name = flag.argument.name
        if not flag.takes_value:
            if explicit is not None:
                self.problem("unexpected_value", f"{option}={explicit}", name, f"{option} takes no value")
            if flag.action == "count":
                self.put(flag, option, self.binding.values.get(name, 0) + 1)
            elif flag.action not in ("help", "version"):
                self.put(flag, option, option not in flag.negations)
            return index
        count = flag.nargs if isinstance(flag.nargs, int) else 1
        words = [explicit] if explicit is not None else self.words[index : index + count]
        if len(words) < (1 if explicit is not None else count):
            self.problem("missing_value", option, name, f"{option} needs {count} values")
            return len(self.words)
        if count == 1:
            self.store(flag, option, words[0])
        else:
            self.put(flag, option, [convert(flag, word, self.binding.problems) for word in words])
        return index if explicit is not None else index + count

    # sys.argv, shell, nothing

    def read_places(self) -> None:
        if self.report.kind == "shell" and any(flag.options for flag in self.report.flags):
            self.read_getopt()
            self.words, self.binding.extras = self.binding.extras, []
        self.place(self.words)
        self.check_required()


_TRUTH = {
    **dict.fromkeys(("true", "t", "1", "yes", "y", "on"), True),
    **dict.fromkeys(("false", "f", "0", "no", "n", "off"), False),
}
