"""The shipped JSON Schemas are up to date, valid, and take and refuse what the types take and refuse."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from otel_turns.model import normalized as n
from otel_turns.model import schema
from otel_turns.model.record import Record
from otel_turns.model.turn import Turn
from tests.model.examples import EVENTS, OTEL, RECORD, TURN
from tests.model.strategies import json_values, records, turns
from tests.model.test_normalized import FIELDS, FORMS, OPTIONAL, VARIANTS, events

# As Any: the stubs of this library are partial.
CHECK: dict[str, Any] = {name: Draft202012Validator(schema.load(name)) for name in schema.NAMES}
TYPES: dict[schema.SchemaName, type[Turn]] = {"turn": Turn, "record": Record}


@pytest.mark.parametrize("name", schema.NAMES)
def test_the_shipped_file_says_what_the_types_say(name: schema.SchemaName) -> None:
    assert schema.load(name) == schema.generate(name), "run python -m otel_turns.model.schema --write"


@pytest.mark.parametrize("name", schema.NAMES)
def test_each_is_a_valid_schema_of_2020_12_with_a_name_and_no_address(name: schema.SchemaName) -> None:
    written = schema.load(name)
    CHECK[name].check_schema(written)
    assert written["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert written["$id"] == f"urn:otel-turns:schema:{name}:1"
    assert schema.text(name).count("://") == 1


def test_the_examples_are_right() -> None:
    CHECK["turn"].validate(TURN)
    CHECK["record"].validate(RECORD)
    assert not CHECK["record"].is_valid(TURN)
    assert not CHECK["turn"].is_valid(RECORD)


@given(turns)
def test_any_turn_is_right(value: dict[str, Any]) -> None:
    CHECK["turn"].validate(value)


@given(records)
def test_any_record_is_right(value: dict[str, Any]) -> None:
    CHECK["record"].validate(value)


def same_verdict(name: schema.SchemaName, value: Any) -> bool:
    try:
        TYPES[name].model_validate_json(json.dumps(value))
    except ValidationError:
        return not CHECK[name].is_valid(value)
    return CHECK[name].is_valid(value)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all members and entries below a value that stands at a path."""
    keys: list[Any] = []
    if isinstance(value, (dict, list)):
        keys = list(cast("Any", value) if isinstance(value, dict) else range(len(cast("Any", value))))
    found: list[tuple[Any, ...]] = []
    for key in keys:
        found += [(*path, key), *spots(value[key], (*path, key))]
    return found


def changed(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy in which the member at the path is left out, or is another value."""
    copy = json.loads(json.dumps(value))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    if change is LEFT_OUT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = change
    return copy


LEFT_OUT = object()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("change", [LEFT_OUT, None, "x", 1, 0.5, True, [], {}, {"more": 1}, -1])
def test_types_and_schema_agree_on_each_change_of_a_member(name: schema.SchemaName, change: Any) -> None:
    # What a record shares with a Turn is changed in the Turn.
    example, where = (TURN, spots(TURN)) if name == "turn" else (RECORD, spots(OTEL, ("otel",)))
    disagree = [path for path in where if not same_verdict(name, changed(example, path, change))]
    assert disagree == []


@pytest.mark.parametrize("name", EVENTS)
def test_types_and_schema_agree_on_a_member_too_many(name: str) -> None:
    value = {"events": [{**EVENTS[name], "more": 1}], "status": "completed"}
    assert not CHECK["turn"].is_valid(value)
    assert same_verdict("turn", value)


@given(events, st.sampled_from(FORMS))
def test_any_event_is_right_in_each_form(event: Any, form: Any) -> None:
    CHECK["normalized-event"].validate(n.to_wire(event, form))


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_required_field_is_required_in_each_form(name: str, field: str) -> None:
    wire, _, fields = VARIANTS[name]
    less = {k: v for k, v in fields.items() if k != field}
    for form in ({"type": wire, "data": less}, {"type": wire.replace(".", "_"), **less}, {name: less}):
        assert CHECK["normalized-event"].is_valid(form) == (field in OPTIONAL.get(name, {}))


@given(json_values)
def test_what_the_schema_takes_is_read(value: Any) -> None:
    if CHECK["normalized-event"].is_valid(value):
        n.parse_wire(value)


def test_the_command_checks_and_writes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert schema.main([]) == 0
    monkeypatch.setattr(schema, "__file__", str(tmp_path / "schema.py"))
    assert schema.main([]) == 1
    assert "differs from the types" in capsys.readouterr().err
    assert schema.main(["--write"]) == 0
    for name in schema.NAMES:
        written = json.loads((tmp_path / "schema" / f"{name}.schema.json").read_text("utf-8"))
        assert written == schema.load(name)
    assert schema.main([]) == 0
