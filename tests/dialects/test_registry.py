"""The registry: precedence, extensions, and the border at which dialects fail."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects import registry as module
from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.registry import NEUTRAL, Registry, built_in_dialects
from otel_turns.model.facts import Convention, Facts, Role
from otel_turns.model.normalized import MessageDelta
from otel_turns.model.span import LogRecord, Span
from tests.dialects.spans import event, record, span


class Plain:
    """A dialect for these tests: reads what carries its key, or what its scopes name."""

    def __init__(
        self, name: str, *, scopes: tuple[str, ...] = (), keys: tuple[str, ...] = (), wants: str = ""
    ) -> None:
        self.convention = Convention(name)
        self.scopes = scopes
        self.keys = keys
        self.wants = wants
        self.asked = 0

    def matches(self, span: Span) -> bool:
        self.asked += 1
        return not self.wants or self.wants in span.attributes

    def read(self, span: Span) -> Facts:
        return Facts(self.convention, Role.AGENT)

    def matches_log(self, record: LogRecord) -> bool:
        self.asked += 1
        return not self.wants or self.wants in record.attributes

    def read_log(self, record: LogRecord) -> Facts | None:
        return Facts(self.convention, Role.INFERENCE)


class Broken(Plain):
    def read(self, span: Span) -> Facts:
        raise ValueError("a value that nobody may see: " + str(span.attributes))

    def read_log(self, record: LogRecord) -> Facts | None:
        raise RecursionError


class Unsure(Plain):
    def matches(self, span: Span) -> bool:
        raise KeyError("x")


def name_of(facts: Facts | None) -> str | None:
    return None if facts is None else facts.convention.name


def test_a_scopes_own_dialect_comes_before_those_that_go_by_attributes() -> None:
    found = Registry([Plain("general"), Plain("own", scopes=("my.scope",))])
    assert name_of(found.read(span({"a": 1}, scope="my.scope"))) == "own"
    assert name_of(found.read(span({"a": 1}, scope="another"))) == "general"


def test_a_star_in_a_scope_covers_any_rest() -> None:
    found = Registry([Plain("own", scopes=("my.scope*",))])
    assert name_of(found.read(span(scope="my.scope.sub"))) == "own"
    assert name_of(found.read(span(scope="my.other"))) == ""


def test_of_two_with_one_scope_the_first_that_recognises_the_span_reads_it() -> None:
    found = Registry([Plain("narrow", scopes=("s",), wants="mark"), Plain("wide", scopes=("s",))])
    assert name_of(found.read(span({"mark": 1}, scope="s"))) == "narrow"
    assert name_of(found.read(span(scope="s"))) == "wide"


def test_without_a_scope_the_order_of_the_list_decides() -> None:
    found = Registry([Plain("first", wants="a"), Plain("second"), Plain("third")])
    assert name_of(found.read(span({"a": 1}))) == "first"
    assert name_of(found.read(span({"b": 1}))) == "second"


def test_keys_save_a_dialect_from_being_asked() -> None:
    own = Plain("own", keys=("mark", "prefix.*"))
    found = Registry([own])
    assert name_of(found.read(span({"http.method": "GET"}))) == ""
    assert own.asked == 0
    assert name_of(found.read(span({"mark": 1}))) == "own"
    assert name_of(found.read(span({"prefix.0.role": 1}))) == "own"


def test_a_dialect_with_scopes_and_keys_reads_other_scopes_by_its_keys() -> None:
    found = Registry([Plain("own", scopes=("s",), keys=("mark",))])
    assert name_of(found.read(span({"mark": 1}, scope="another"))) == "own"
    assert name_of(found.read(span({"a": 1}, scope="another"))) == ""


def test_a_framework_inherits_no_keys() -> None:
    class Framework(GenAI):
        convention = Convention("framework")
        scopes = ("framework",)

    found = Registry([Framework(), GenAI()])
    assert name_of(found.read(span({"gen_ai.operation.name": "chat"}, scope="framework"))) == "framework"
    assert name_of(found.read(span({"gen_ai.operation.name": "chat"}, scope="another"))) == "gen_ai"
    body = {"content": "Hello"}
    assert name_of(found.read_log(record("gen_ai.user.message", body=body, scope="framework"))) == "framework"
    assert name_of(found.read_log(record("gen_ai.user.message", body=body, scope="another"))) == "gen_ai"


def test_a_span_that_nothing_reads_is_structure() -> None:
    facts = Registry([]).read(span({"http.request.method": "GET"}))
    assert (facts.convention, facts.role, facts.unread) == (NEUTRAL, Role.STEP, False)
    assert Registry([]).read_log(record("", {"a": 1}, body="words")) is None


@pytest.mark.parametrize(
    "key", ["gen_ai.operation.name", "gen_ai.tool.name", "llm.request.type", "openinference.span.kind"]
)
def test_a_span_that_looks_like_agent_work_is_counted_as_unread(key: str) -> None:
    assert Registry([]).read(span({key: "x"})).unread
    assert not Registry([Plain("own")]).read(span({key: "x"})).unread


def test_identity_copied_onto_a_span_is_no_agent_work() -> None:
    copied = {
        "gen_ai.agent.name": "root",
        "gen_ai.conversation.id": "c",
        "gen_ai.request.model": "m",
        "http.method": "GET",
    }
    assert not Registry().read(span(copied)).unread


def test_normalized_events_are_read_on_every_span() -> None:
    told = [event("message.delta", {"text": "a"})]
    for attributes in ({}, {"http.request.method": "GET"}, {"gen_ai.operation.name": "invoke_agent"}):
        assert Registry().read(span(attributes, events=told)).normalized == [(5_000, MessageDelta("a"))]


def test_an_error_in_a_dialect_stops_at_the_border(caplog: pytest.LogCaptureFixture) -> None:
    found = Registry([Broken("broken", wants="a"), Plain("next")])
    with caplog.at_level(logging.WARNING):
        first, second = found.read(span({"a": "secret"})), found.read(span({"a": "secret"}))
        assert found.read_log(record("x", {"a": "secret"})) is None
    assert (first.role, [mark.kind for mark in first.marks]) == (Role.STEP, ["malformed"])
    assert second.marks == first.marks
    assert found.failures == {"broken": 3}
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text
    assert "secret" not in str(first.marks)


def test_an_error_while_recognising_stops_there_too() -> None:
    facts = Registry([Unsure("unsure")]).read(span())
    assert [mark.kind for mark in facts.marks] == ["malformed"]


def _points(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = EntryPoints(EntryPoint(f"p{index}", value, module.GROUP) for index, value in enumerate(values))

    def select(group: str) -> EntryPoints:
        return points.select(group=group)

    monkeypatch.setattr(module, "entry_points", select)


def test_dialects_of_other_packages_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _points(monkeypatch, "tests.dialects.test_registry:Extension", "tests.dialects.test_registry:extension")
    found = Registry()
    assert [d.convention.name for d in found.dialects[:2]] == ["extension", "made"]
    assert name_of(found.read(span({"gen_ai.operation.name": "chat", "mark": 1}))) == "extension"


@pytest.mark.parametrize(
    "value",
    ["no.such.module:X", "tests.dialects.test_registry:missing", "tests.dialects.test_registry:NotADialect"],
)
def test_a_broken_extension_is_left_out_with_a_warning(
    value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _points(monkeypatch, value)
    with caplog.at_level(logging.WARNING):
        found = Registry()
    assert len(found.dialects) == len(built_in_dialects())
    assert value in caplog.text


def test_every_dialect_of_the_package_is_there_once_and_says_how_content_is_turned_on() -> None:
    dialects = built_in_dialects()
    assert len({type(dialect) for dialect in dialects}) == len(dialects) > 20
    for dialect in dialects:
        assert dialect.convention.name
        assert dialect.convention.content_switch
        assert type(dialect).__doc__ is not None
        assert "|" in (type(dialect).__doc__ or "")


class Extension(Plain):
    def __init__(self) -> None:
        super().__init__("extension", keys=("mark",))


class NotADialect:
    pass


extension = Plain("made", scopes=("made",))

_TEXTS = st.text(max_size=8) | st.sampled_from(
    [
        "chat",
        "execute_tool",
        "invoke_agent",
        "[]",
        "{}",
        '[{"role":"user","parts":[{"type":"text"}]}]',
        "[REDACTED]",
        "tools/call",
        "TOOL",
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


def _known_keys() -> Iterator[str]:
    for dialect in built_in_dialects():
        yield from getattr(dialect, "keys", ())
    for key in (
        "input.messages",
        "output.messages",
        "system_instructions",
        "usage.input_tokens",
        "tool.call.arguments",
    ):
        yield f"gen_ai.{key}"
    for key in (
        "tool.call.result",
        "agent.name",
        "output.type",
        "request.response_format",
        "response.id",
        "prompt",
    ):
        yield f"gen_ai.{key}"
    yield from (
        "final_result",
        "pydantic_ai.new_message_index",
        "error.type",
        "input.value",
        "output.value",
        "session.id",
    )
    yield from (
        "gcp.vertex.agent.llm_request",
        "gcp.vertex.agent.llm_response",
        "traceloop.entity.input",
        "events",
    )


def _scopes() -> list[str]:
    return [
        "",
        "unheard.of",
        *(scope.rstrip("*") for dialect in built_in_dialects() for scope in dialect.scopes),
    ]


_ATTRIBUTES = st.dictionaries(st.sampled_from(sorted(set(_known_keys()))) | _TEXTS, _VALUES, max_size=8)
_EVENT_NAMES = st.sampled_from(
    [
        "exception",
        "gen_ai.choice",
        "gen_ai.user.message",
        "gen_ai.client.inference.operation.details",
        "NormalizedEvent",
        "message.delta",
        "tool_result",
        "usage",
        "gen_ai.content.prompt",
        "gen_ai.tool.message",
    ]
)
_EVENTS = st.lists(st.builds(event, _EVENT_NAMES, _ATTRIBUTES), max_size=3)
_NAMES = st.sampled_from(
    ["span", "call_llm", "invocation", "workflow.run", "execute_tool x", "invoke_agent a", "compact_events t"]
)
_REGISTRY = Registry(built_in_dialects())


@given(_ATTRIBUTES, _EVENTS, st.sampled_from(_scopes()), _NAMES, st.integers(0, 2))
def test_no_span_makes_any_dialect_fail(
    attributes: dict[str, Any], events: Any, scope: str, name: str, status: int
) -> None:
    before = dict(_REGISTRY.failures)
    _REGISTRY.read(span(attributes, events=events, scope=scope, name=name, status=status))
    assert _REGISTRY.failures == before


@given(_EVENT_NAMES | st.text(max_size=6), _ATTRIBUTES, _VALUES, st.sampled_from(_scopes()))
def test_no_record_makes_any_dialect_fail(
    name: str, attributes: dict[str, Any], body: Any, scope: str
) -> None:
    before = dict(_REGISTRY.failures)
    _REGISTRY.read_log(record(name, attributes, body=body, scope=scope))
    assert _REGISTRY.failures == before


def test_a_record_of_the_convention_goes_to_the_convention_and_not_to_one_that_extends_it() -> None:
    registry = Registry()
    for scope, name in (
        ("opentelemetry.instrumentation.genai.openai", "gen_ai"),
        ("opentelemetry.instrumentation.openai.v1", "traceloop"),
    ):
        facts = registry.read_log(record("gen_ai.client.inference.operation.details", scope=scope))
        assert facts is not None
        assert facts.convention.name == name
