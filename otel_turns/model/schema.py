"""JSON Schema (2020-12) of the Turn, the record and NormalizedEvent.

Comes in: the types. Goes out: the schemas, as dicts and as the files beside this module that the package
ships. They say shapes only; what holds between events (pairs, order) is checked by `validate`.

`python -m otel_turns.model.schema` says whether the files are up to date, with `--write` it writes them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from otel_turns.model.record import Record
from otel_turns.model.turn import Turn
from otel_turns.model.variant_fields import VARIANTS, Field, Variant

__all__ = ["NAMES", "SchemaName", "generate", "load", "main", "text"]

SchemaName: TypeAlias = Literal["turn", "record", "normalized-event"]
NAMES: Final[tuple[SchemaName, ...]] = ("turn", "record", "normalized-event")

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VERSION = 1


def load(name: SchemaName) -> dict[str, Any]:
    """The schema as the package ships it."""
    return json.loads(text(name))


def text(name: SchemaName) -> str:
    """The shipped schema as text, as `load` but without decoding."""
    return (files("otel_turns.model") / "schema" / f"{name}.schema.json").read_text("utf-8")


def generate(name: SchemaName) -> dict[str, Any]:
    """The schema made from the types, the same for the same types."""
    made = _normalized_event() if name == "normalized-event" else _shape(Turn if name == "turn" else Record)
    return {
        "$schema": _DIALECT,
        "$id": f"urn:otel-turns:schema:{name}:{_VERSION}",
        **_plain(made),
    }


def _shape(shape: type[Turn]) -> dict[str, Any]:
    return shape.model_json_schema(mode="validation", ref_template="#/$defs/{model}")


def _plain(node: Any) -> Any:
    """Leaves out what says nothing: OpenAPI's `discriminator`, and that any further member may come."""
    if isinstance(node, list):
        return [_plain(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    found = cast("dict[str, Any]", node)
    silent: set[str] = set()
    if "oneOf" in found:
        silent.add("discriminator")
    if found.get("additionalProperties") is True:
        silent.add("additionalProperties")
    return {name: _plain(each) for name, each in found.items() if name not in silent}


def _normalized_event() -> dict[str, Any]:
    """One definition for the fields of each variant, and each of serde's three forms over them."""
    fields = {variant.name: _fields(variant) for variant in VARIANTS.values()}
    forms = {
        "Adjacent": ("`type` names the variant, `data` holds its fields.", _adjacent),
        "Internal": ("`type` names the variant and stands among its fields.", _internal),
        "External": ("The variant's name holds its fields.", _external),
    }
    return {
        "title": "NormalizedEvent",
        "description": "A NormalizedEvent in one of serde's three forms, under its usual names.",
        "anyOf": [{"$ref": f"#/$defs/{form}"} for form in forms],
        "$defs": {
            **{
                form: {"description": says, "oneOf": [make(variant) for variant in VARIANTS.values()]}
                for form, (says, make) in forms.items()
            },
            **fields,
        },
    }


def _fields(variant: Variant) -> dict[str, Any]:
    if variant.name == "CitationAdded":
        return {"type": "object", "minProperties": 1}
    properties = {field.name: _field(field) for field in variant.fields}
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if variant.required:
        made["required"] = list(variant.required)
    return made


def _field(field: Field) -> dict[str, Any]:
    made = dict(field.type.schema)
    return {**made, "type": [made["type"], "null"]} if field.default is None else made


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def _ref(variant: Variant) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{variant.name}"}


def _adjacent(variant: Variant) -> dict[str, Any]:
    tag = {"type": {"const": variant.wire}}
    if variant.name == "Done":
        return _object(tag, ["type"])
    return _object({**tag, "data": _ref(variant)}, ["type", "data"])


def _internal(variant: Variant) -> dict[str, Any]:
    made = _object({"type": {"const": variant.wire.replace(".", "_")}}, ["type"])
    if variant.name == "CitationAdded":
        return {**made, "minProperties": 2}
    return {**made, **_ref(variant)}


def _external(variant: Variant) -> dict[str, Any]:
    if variant.name == "Done":
        return {"const": variant.name}
    return {**_object({variant.name: _ref(variant)}, [variant.name]), "maxProperties": 1}


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks the shipped files against the types, or writes them; 1 where a checked file differs."""
    write = "--write" in (sys.argv[1:] if arguments is None else arguments)
    folder = Path(__file__).parent / "schema"
    folder.mkdir(exist_ok=True)
    stale: list[str] = []
    for name in NAMES:
        path = folder / f"{name}.schema.json"
        wanted = generate(name)
        # As data: another version of pydantic may write the same members in another order.
        if path.exists() and json.loads(path.read_text("utf-8")) == wanted:
            continue
        stale.append(path.name)
        if write:
            path.write_text(json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", "utf-8")
    for each in stale:
        said = "written" if write else "differs from the types; run with --write"
        print(f"{each}: {said}", file=sys.stderr)
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main())
