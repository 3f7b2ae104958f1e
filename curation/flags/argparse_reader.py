"""The flags of a program that uses argparse (or optparse), from one reading of it."""

from __future__ import annotations

from dataclasses import replace

from .interpreter import Interpreter
from .parsers import ParserState
from .report import FlagReport, Kind

__all__ = ["chosen", "summary"]


def chosen(parsers: list[ParserState]) -> list[ParserState]:
    """The parsers whose flags the command line feeds: those that parse, else all that nothing inherits from."""
    roots = [parser for parser in parsers if not parser.is_subcommand]
    parsed = [parser for parser in roots if parser.parsed]
    if parsed:
        return parsed
    return [parser for parser in roots if not parser.inherited and (parser.flags or parser.subcommands)]


def summary(reading: Interpreter) -> FlagReport:
    """One report from the parsers of a program: with two stages the flags of both count."""
    read_paths = frozenset(reading.read_paths)
    parsers = chosen(reading.parsers)
    if not parsers:
        kind: Kind = "argparse" if reading.unresolved else "none"
        return FlagReport(kind, (), not reading.unresolved, tuple(reading.unresolved), read_paths=read_paths)
    merged = ParserState(parsers[-1].where)
    last = parsers[-1]
    merged.allow_abbrev, merged.prefix_chars, merged.add_help = last.allow_abbrev, last.prefix_chars, last.add_help
    for parser in parsers:
        merged.inherit(parser)
        merged.add_help = merged.add_help or parser.add_help
    merged.unresolved.extend(reading.unresolved)
    report = merged.report(read_paths)
    strict = any(parser.strict for parser in parsers)
    return replace(report, accepts_unknown=not strict and any(parser.known_only for parser in parsers))
