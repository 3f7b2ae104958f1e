"""The rules: an id that never changes, a name, a severity, and what a reader should know."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from ...core.errors import BenchwrightError

__all__ = ["RULES", "Rule", "Severity", "rule", "rules_page", "selected"]

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Rule:
    """One rule."""

    id: str
    name: str
    severity: Severity
    summary: str
    """What it finds, in one sentence."""
    why: str
    """Why that is a fault, and what to do."""
    fixable: bool = False
    """Whether ``--fix`` can mend what it finds."""


_GROUPS = {
    "BW0": "Rows and their identity",
    "BW1": "Code and its type",
    "BW2": "Arguments",
    "BW3": "Entry points and repositories",
    "BW4": "Duplicates and splits",
    "BW5": "Licences and sources",
    "BW6": "Text",
}

_TABLE: tuple[Rule, ...] = (
    Rule(
        "BW001", "unreadable-row", "error",
        "A row is no JSON object, lacks one of ML-Bench's eleven columns, or a column holds the wrong type.",
        "Readers drop or misread such rows. Write the row anew.",
    ),
    Rule(
        "BW002", "repeated-id", "error",
        "Two examples of one split share github_id and id.",
        "Predictions and results are matched by these two numbers. Give one of them the next free id.",
    ),
    Rule(
        "BW003", "unreadable-arguments", "error",
        "The arguments are neither a JSON object nor a Python mapping of literals.",
        "They are read without evaluating anything, so expressions have no meaning. Write a mapping of plain values.",
    ),
    Rule(
        "BW004", "unreadable-workspace", "error",
        "A file of the workspace cannot be read as what it should be.",
        "Nothing in it can be checked or released. The message names the field.",
    ),
    Rule(
        "BW101", "wrong-type", "error",
        "The output is not of the declared type: Python under Bash Script, or commands under Python Code.",
        "It would be run by the wrong interpreter. Change the type or the output.",
    ),
    Rule(
        "BW102", "published-type-rule", "warning",
        "The output fails ML-Bench's own type rule: Bash outputs hold `.sh ` or `.py ` and a blank, Python neither.",
        "Under the protocol `ml-bench` nobody can pass this example by answering with its own output.",
    ),
    Rule(
        "BW103", "unparsable-code", "error",
        "The output cannot be parsed as Python or as bash.",
        "It cannot have run as it stands. Often prose was left behind the code.",
    ),
    Rule(
        "BW104", "console-prompt", "warning",
        "Output or prefix code holds a console's prompt, such as `$ cd data`.",
        "The prompt is run as a command. `--fix` removes it.",
        fixable=True,
    ),
    Rule(
        "BW105", "literal-newline", "warning",
        "Prefix code holds a newline written as `\\n` or `/n` between two commands.",
        "Two commands became one that does not exist. Write them on two lines.",
    ),
    Rule(
        "BW201", "argument-not-met", "error",
        "The output is not really called with an argument's value, compared by type through the program's own flags.",
        "The example contradicts itself: whoever follows the arguments does something else than the output does.",
    ),
    Rule(
        "BW202", "published-argument-rule", "warning",
        "A value does not occur letter by letter in the output, as ML-Bench's own check demands.",
        "Under the protocol `ml-bench` nobody can pass this example by answering with its own output.",
    ),
    Rule(
        "BW203", "value-not-in-instruction", "warning",
        "A value does not occur in the instruction.",
        "Nobody can know it from the instruction alone. Say it there, or leave the argument out.",
    ),
    Rule(
        "BW204", "contradictory-value", "error",
        "The instruction gives an argument another value than the arguments do.",
        "A right answer to the instruction is marked wrong. Correct one of the two.",
    ),
    Rule(
        "BW205", "cut-off-value", "error",
        "A value looks cut off: only the beginning of a number in the text, or 0 for a rate that is a fraction.",
        "`0.01` becomes `0` when a sentence is cut at its point. Look up the value that was meant.",
    ),
    Rule(
        "BW206", "empty-value", "info",
        "An argument has an empty value.",
        "It asks only that a switch be given; a flag that takes a value is then wanted empty. Say what is meant.",
    ),
    Rule(
        "BW301", "undefined-flag", "error",
        "The output passes an option that the program does not define at the pinned commit.",
        "The program stops at it, or ignores it. Options of launchers are not meant, nor those a helper adds.",
    ),
    Rule(
        "BW302", "required-flag-missing", "error",
        "The output leaves out what the program requires.",
        "The program stops at once. Add the option or word.",
    ),
    Rule(
        "BW303", "refused-value", "error",
        "The program refuses a value or word: no such choice, not of the flag's type, too few or too many words.",
        "The program stops at once.",
    ),
    Rule(
        "BW304", "abbreviated-flag", "info",
        "The output shortens an option, which argparse completes.",
        "The next version of the program may define a second option that begins so. Write it out.",
    ),
    Rule(
        "BW305", "script-absent", "error",
        "The script that the output starts, or a module of the repository it imports, is not at the pinned commit.",
        "Correct the name, or the folder it is looked for in.",
    ),
    Rule(
        "BW306", "path-absent", "error",
        "The folder the output is to run in does not exist at the pinned commit.",
        "Nothing can run there. Correct `path`.",
    ),
    Rule(
        "BW307", "placeholder", "warning",
        "The output holds a placeholder that the reader was meant to replace.",
        "No such file exists, so the output fails or a stand-in must be laid there. Name a real input.",
    ),
    Rule(
        "BW308", "repository-unavailable", "warning",
        "No commit is known for the repository, or it is not at hand here.",
        "Rules that need its files were left out for its examples. Name a mirror, or register the repository.",
    ),
    Rule(
        "BW401", "duplicate", "error",
        "Two examples are the same but for their ids.",
        "They count twice in every score. Withdraw one.",
    ),
    Rule(
        "BW402", "near-duplicate", "warning",
        "Two examples have the same output and nearly the same instruction.",
        "They measure one thing twice. Withdraw one, or vary its arguments.",
    ),
    Rule(
        "BW403", "split-overlap", "error",
        "A task has examples both in a training split and in a test split.",
        "Whoever trains on the one has seen the other. Move all examples of a task into one split.",
    ),
    Rule(
        "BW404", "same-question-other-answer", "error",
        "Two examples of a task have the same instruction and different outputs.",
        "At most one of them can be right. Tell them apart in the instruction.",
    ),
    Rule(
        "BW501", "unknown-licence", "warning",
        "The licence of a repository is not known.",
        "Its README text may not be redistributable. Look it up and register it.",
    ),
    Rule(
        "BW502", "licence-not-redistributable", "warning",
        "The licence of a repository is none of those the workspace allows to redistribute.",
        "Its README text must not be published without asking. Clear it, or list the licence in benchwright.toml.",
    ),
    Rule(
        "BW503", "source-changed", "warning",
        "The README segment is not found in the repository's documents at the pinned commit.",
        "The text changed upstream, or was taken from elsewhere. Take it anew from the pinned commit.",
    ),
    Rule(
        "BW601", "secret", "error",
        "A text holds what looks like an access token, a private key or a password in an address.",
        "Published secrets are used within minutes. Revoke it, then remove it. It is not shown here.",
    ),
    Rule(
        "BW602", "broken-encoding", "error",
        "A text holds replacement characters, lone surrogates, or UTF-8 that was read as another encoding.",
        "Letters are lost or wrong. Take the text anew from its source.",
    ),
    Rule(
        "BW603", "invisible-character", "warning",
        "Code or instruction holds control characters, zero-width or no-break spaces, or a byte order mark.",
        "Shells and parsers stumble over what nobody sees. `--fix` removes them.",
        fixable=True,
    ),
    Rule(
        "BW604", "carriage-return", "warning",
        "Code holds Windows line ends.",
        "bash takes the carriage return for part of the last word. `--fix` replaces them.",
        fixable=True,
    ),
)  # fmt: skip

RULES: dict[str, Rule] = {item.id: item for item in _TABLE}


def rule(identifier: str) -> Rule:
    """The rule of that id."""
    return RULES[identifier]


def selected(select: Iterable[str], ignore: Iterable[str]) -> Collection[Rule]:
    """The rules that remain: ids, beginnings of ids (``BW2``) and names, several behind commas.

    Raises:
        BenchwrightError: a word names no rule.
    """
    wanted, unwanted = _named(select), _named(ignore)
    return [item for item in _TABLE if (not wanted or item in wanted) and item not in unwanted]


def _named(words: Iterable[str]) -> set[Rule]:
    found: set[Rule] = set()
    for word in (part.strip() for given in words for part in given.split(",") if part.strip()):
        named = {item for item in _TABLE if item.id.startswith(word.upper()) or item.name == word.lower()}
        if not named:
            raise BenchwrightError(f"there is no rule {word}", remedy="docs/rules.md lists ids and names")
        found |= named
    return found


def rules_page() -> str:
    """``docs/rules.md``."""
    lines = [
        "<!-- written by `make docs`: do not edit -->",
        "",
        "# Rules of `benchwright check`",
        "",
        "An error makes the command end with 1; warnings and infos are for reading. `--select` and `--ignore` take",
        "ids, beginnings of ids (`BW2`) and names. Ids never change and are never used again.",
    ]
    for prefix, title in _GROUPS.items():
        members = [item for item in _TABLE if item.id.startswith(prefix)]
        lines += ["", f"## {title}", "", "| id | name | severity | fix | what it finds |", "|---|---|---|---|---|"]
        for item in members:
            mark = "yes" if item.fixable else ""
            lines.append(
                f"| {item.id} | {item.name} | {item.severity} | {mark} | {item.summary.replace('|', '&#124;')} |"
            )
        lines += ["", *(f"- **{item.id}** {item.why}" for item in members)]
    return "\n".join(lines) + "\n"
