"""``HfArgumentParser`` and simple_parsing's ``add_arguments``: the fields of data classes as flags."""

from __future__ import annotations

from .parser_calls import Given
from .parsers import Keyword, ParserState, make_flag
from .relevance import Relevance
from .report import Flag
from .signatures import Parameter, annotation_of, fields_of
from .syntax import call_arguments, text_of
from .values import Class, Const, Group, Table, Unknown, Value, items_of

__all__ = ["DataclassParser"]


class DataclassParser(Relevance):
    """Reads what ``HfArgumentParser((A, B))`` makes of the fields of A and B."""

    def dataclass_parser(self, given: Given) -> Value:
        state = self.new_parser(given.where)
        handed = given.positional[0] if given.positional else given.keywords.get("dataclass_types")
        if handed is not None:
            self.add_fields(state, handed, given.where)
        return Group(state)

    def add_fields(self, state: ParserState, handed: Keyword, where: str) -> None:
        """Add the fields of one data class, or of each in a tuple or list."""
        value, text = handed
        for item in [value] if isinstance(value, Class) else items_of(value) or [value]:
            if not isinstance(item, Class):
                name = getattr(item, "dotted", getattr(item, "text", text))
                state.unresolved.append(f"{where}: flags of {name}, which is not in this repository")
                continue
            for cls in reversed(self.ancestry(item)):
                for parameter in fields_of(cls.node):
                    state.add(self.field_flag(cls, parameter))

    def field_flag(self, cls: Class, field: Parameter) -> Flag:
        where = f"{cls.scope.path}:{field.node.start_point.row + 1}"
        annotation = annotation_of(field.annotation)
        wanted: dict[str, Keyword] = {"dest": (Const(field.name), "")}
        default = field.default
        if (
            default is not None
            and default.type == "call"
            and text_of(default).startswith(("field(", "dataclasses.field("))
        ):
            _, keywords, _ = call_arguments(default)
            default = keywords.get("default")
            if "default_factory" in keywords:
                wanted["default"] = (
                    Unknown(text_of(keywords["default_factory"])),
                    text_of(keywords["default_factory"]),
                )
            metadata = self.evaluate(keywords["metadata"], cls.scope) if "metadata" in keywords else None
            for key in ("help", "choices"):
                known = (
                    metadata.value.get(key)
                    if isinstance(metadata, Const) and isinstance(metadata.value, dict)
                    else None
                )
                found: Value | None = Const(known) if known is not None else None
                if isinstance(metadata, Table):
                    found = metadata.items.get(key)
                if found is not None:
                    wanted[key] = (found, text_of(keywords["metadata"]))
        if default is not None:
            wanted["default"] = (self.evaluate(default, cls.scope), text_of(default))
        wanted["required"] = (Const("default" not in wanted), "")
        if annotation.choices is not None:
            wanted["choices"] = (Const(list(annotation.choices)), "")
        negations: tuple[str, ...] = ()
        if annotation.type == "bool":
            wanted["nargs"], wanted["const"] = (Const("?"), ""), (Const(True), "")
            wanted["required"] = (Const(False), "")
            wanted.setdefault("default", (Const(False), "False"))
            if wanted["default"][0] == Const(True):
                negations = (f"--no_{field.name}",)
        elif annotation.is_list:
            wanted["nargs"] = (Const("+"), "")
        names = dict.fromkeys([f"--{field.name}", f"--{field.name.replace('_', '-')}"])
        flag = make_flag(list(names), wanted, defined_at=where)
        argument = flag.argument.model_copy(update={"type": annotation.type, "flag": f"--{field.name}"})
        converter = "string_to_bool" if annotation.type == "bool" else None
        return Flag(
            argument, (*flag.options, *negations), negations, flag.action, flag.nargs, flag.const, converter=converter
        )
