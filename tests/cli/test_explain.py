"""`explain`: what became of each span, how calls were joined, what is missing and how to get it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from otel_turns.cli.accounts import accounts, print_tree
from otel_turns.explain import explain
from otel_turns.model.evidence import CODES
from otel_turns.pipeline import convert
from tests.cli.conftest import Run
from tests.cli.telemetry import span, traces, weather

CORPUS = Path(__file__).parents[1] / "corpus"
RECORDINGS = sorted(p.name.removesuffix(".truth.json") for p in CORPUS.glob("*.truth.json"))


def recording(name: str) -> list[str]:
    return [str(p) for kind in ("traces", "logs") if (p := CORPUS / f"{name}.{kind}.jsonl").exists()]


def explained(name: str) -> list[dict[str, Any]]:
    return explain(recording(name)).traces


def became(trace: dict[str, Any]) -> dict[str, list[str]]:
    return {s["name"]: s["became"] for s in trace["spans"]}


def operations(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {op["operationId"]: op for t in found for turn in t["turns"] for op in turn["operations"]}


def test_a_small_trace(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather())
    ended = run("explain", str(path))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"trace {1:032x}, read as gen_ai 4",
        "  invoke_agent helper: turn, the turn's agent",
        "    chat m: request",
        "    execute_tool get_weather: operation c1",
        "    chat m: request",
        f"  turn {1:032x}{1:016x}: completed, not complete",
        "    call get_weather c1, completed: joined by id",
        "    missing usage_partial: no span reports the tokens of this turn",
        "      Take usage as a lower bound.",
    ]


def test_json_is_one_line_a_trace(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather())
    (trace,) = run("explain", str(path), "--json").records()
    assert trace["dialects"] == {"gen_ai": 4}
    (turn,) = trace["turns"]
    assert (turn["turnId"], turn["complete"]) == (f"{1:032x}{1:016x}", False)
    assert turn["operations"] == [
        {
            "operationId": "c1",
            "kind": "tool",
            "name": "get_weather",
            "status": "completed",
            "askedBy": f"{2:016x}",
            "runs": [f"{3:016x}"],
            "joinedBy": "id",
        }
    ]


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_span_has_its_end_and_every_turn_is_the_one_that_convert_writes(name: str) -> None:
    files = recording(name)
    records: list[dict[str, Any]] = []
    summary = convert(files, records.append)
    found = explain(files)
    spans = [s for t in found.traces for s in t["spans"]]
    assert sum(1 for s in spans if "record" not in s) == summary.spans == found.spans
    assert all(s["became"] for s in spans)
    turns = {turn["turnId"]: turn for t in found.traces for turn in t["turns"]}
    assert turns.keys() == {r["otel"]["turnId"] for r in records}
    for record in records:
        turn, evidence = turns[record["otel"]["turnId"]], record["otel"]["evidence"]
        assert (turn["status"], turn["complete"]) == (record["status"], evidence["complete"])
        remarks = [*turn["missing"], *turn["notes"]]
        assert Counter(i["code"] for i in evidence["issues"]) == sum(
            (Counter({r["code"]: r["count"]}) for r in remarks), Counter[str]()
        )
        assert all(r["todo"] and r["message"] for r in remarks)
        assert bool(turn["missing"]) is not evidence["complete"]
        finished = {e["operationId"] for e in record["events"] if e["type"] == "operation.finished"}
        assert finished <= {op["operationId"] for op in turn["operations"] if "status" in op}
    roots = [s for s in spans if "turn" in s["became"]]
    assert len(roots) == len(records)
    truth = orjson.loads((CORPUS / f"{name}.truth.json").read_bytes())
    really = {
        e["operationId"]: e["operation"]["name"]
        for turn in truth["turns"]
        for e in turn["events"]
        if e["type"] == "operation.started" and e["operation"]["kind"] == "tool"
    }
    told = {i: op["name"] for i, op in operations(found.traces).items() if op["kind"] == "tool"}
    assert {i: n for i, n in told.items() if i in really} == {i: n for i, n in really.items() if i in told}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        # both the reply and the span carry the id
        ("pydantic-ai-native--weather", {"id"}),
        ("semconv-handmade--weather", {"id"}),
        # this tracer puts the id on the reply alone
        ("openai-agents-official--weather", {"arguments"}),
        ("openai-agents-official-chat--parallel", {"arguments"}),
        # no span runs it: a provider's SDK sees requests only
        ("openai-official--weather", {None}),
        # nobody asks for it: requests are not instrumented
        ("openai-agents-official-agentsonly--weather", {None}),
    ],
)
def test_how_calls_were_joined(name: str, how: set[str | None]) -> None:
    found = [op for op in operations(explained(name)).values() if op["kind"] == "tool"]
    assert found
    assert {op.get("joinedBy") for op in found} == how


def test_a_call_without_arguments_to_compare_is_joined_by_order(tmp_path: Path) -> None:
    call = '[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"now","arguments":{}}]}]'
    path = tmp_path / "traces.jsonl"
    path.write_bytes(
        traces(
            span("invoke_agent a", 1, None, 0, 2, gen_ai__operation__name="invoke_agent"),
            span("chat m", 2, 1, 0.1, 0.5, gen_ai__operation__name="chat", gen_ai__output__messages=call),
            span(
                "execute_tool now",
                3,
                1,
                0.5,
                1,
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name="now",
            ),
        )
    )
    assert operations(explain([str(path)]).traces)["c1"]["joinedBy"] == "order"


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("openai-official--weather-nocontent", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        ("openai-traceloop--weather-nocontent", "TRACELOOP_TRACE_CONTENT"),
        ("openai-openinference--weather-nocontent", "OPENINFERENCE_HIDE_"),
        ("agent-framework-native--weather-nocontent", "ENABLE_SENSITIVE_DATA"),
        ("langchain-langsmith--weather-nocontent", "LANGSMITH_HIDE_"),
    ],
)
def test_what_is_missing_names_the_switch_of_its_instrumentation(run: Run, name: str, switch: str) -> None:
    turns = [turn for t in explained(name) for turn in t["turns"]]
    missing = [r for turn in turns for r in turn["missing"] if r["code"] == "content_not_captured"]
    assert missing
    assert all(switch in r["todo"] and switch not in r["message"] for r in missing)
    assert switch in run("explain", *recording(name)).out


def test_a_remark_that_is_no_matter_of_content_says_what_its_code_says(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather())
    (trace,) = explain([str(path)]).traces
    (remark,) = trace["turns"][0]["missing"]
    assert remark["todo"] == CODES["usage_partial"].action


def test_spans_that_tell_the_same_are_merged() -> None:
    """Two instrumentations of one request: one request, and the other's span says where it went."""
    (trace,) = explained("semconv-handmade-double--weather")
    requests = [s for s in trace["spans"] if s["became"] == ["request"]]
    merged = [s for s in trace["spans"] if s["became"] == ["merged"]]
    assert len(requests) == len(merged) == 2
    assert {s["mergedInto"]["spanId"] for s in merged} == {s["spanId"] for s in requests}


def test_an_mcp_server_span_is_merged_into_the_clients() -> None:
    spans = {s["spanId"]: s for t in explained("mcp-native--weather") for s in t["spans"]}
    merged = [s for s in spans.values() if s["became"] == ["merged"]]
    assert [spans[s["mergedInto"]["spanId"]]["became"] for s in merged] == [["operation"]]


def test_a_turn_of_several_traces_is_told_once_and_named_by_its_spans() -> None:
    found = explained("openai-official--weather")
    (turn,) = [turn for t in found for turn in t["turns"]]
    assert turn["traceIds"] == sorted(t["traceId"] for t in found if t["spans"][0]["scope"])
    assert len(turn["traceIds"]) == 2
    assert all(s["turnIds"] == [turn["turnId"]] for t in found for s in t["spans"] if "record" not in s)


def test_a_subagent_and_the_call_that_reached_it() -> None:
    (trace,) = explained("langchain-official--subagent")
    assert became(trace)["invoke_agent researcher"] == ["subagent"]
    assert became(trace)["execute_tool research"] == ["operation"]
    kinds = [(op["kind"], op["name"]) for op in operations([trace]).values()]
    assert kinds == [("tool", "research"), ("subagent", "researcher"), ("tool", "search_docs")]


def test_what_nobody_reads_is_told_apart_from_structure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(
        traces(
            span("POST /chat", 1, None, 0, 3, http__request__method="POST"),
            span("invoke_agent a", 2, 1, 0, 2, gen_ai__operation__name="invoke_agent"),
            span("SELECT", 3, 2, 0.1, 0.2, db__system="sqlite"),
            span("ours", 4, 2, 0.3, 0.4, gen_ai__usage__our_tokens=3),
        )
    )
    (trace,) = run("explain", str(path), "--json").records()
    assert became(trace) == {
        "POST /chat": ["structure"],
        "invoke_agent a": ["turn", "agent"],
        "SELECT": ["structure"],
        "ours": ["unread"],
    }
    assert [s["name"] for s in trace["spans"] if "dialect" in s] == ["invoke_agent a"]
    shown = run("explain", str(path)).out.splitlines()
    assert shown[:5] == [
        f"trace {1:032x}, read as gen_ai 1, no dialect 3",
        "  invoke_agent a: turn, the turn's agent",
        "    ours: not read",
        "    and 1 span of structure",
        "  and 1 span of structure",
    ]
    full = run("explain", str(path), "--full").out.splitlines()
    assert full[1:5] == [
        "  POST /chat: structure",
        "    invoke_agent a: turn, the turn's agent",
        "      SELECT: structure",
        "      ours: not read",
    ]


def test_traces_without_agent_work_are_counted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(traces(span("GET /health", 1, None, 0, 1)))
    assert run("explain", str(path)).out == "1 trace without agent work\n"
    assert "GET /health: structure" in run("explain", str(path), "--full").out


def test_the_same_span_again_is_named(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather() * 2)
    (trace,) = explain([str(path)]).traces
    assert Counter(w for s in trace["spans"] for w in s["became"])["duplicate"] == 4
    assert len(trace["turns"]) == 1


def test_spans_that_are_each_others_parents_are_shown(run: Run, tmp_path: Path) -> None:
    agent = {"gen_ai__operation__name": "invoke_agent"}
    path = tmp_path / "traces.jsonl"
    path.write_bytes(traces(span("invoke_agent a", 1, 2, 0, 2, **agent), span("chat m", 2, 1, 1, 2)))
    assert "  invoke_agent a: turn, the turn's agent" in run("explain", str(path)).out.splitlines()


def test_log_records_say_whose_they_are(run: Run) -> None:
    (trace,) = explained("openai-agents-official-eventonly--weather")
    requests = {s["spanId"] for s in trace["spans"] if "request" in s["became"]}
    records = [s for s in trace["spans"] if "record" in s]
    assert len(records) == len(requests) == 2
    assert {r["mergedInto"]["spanId"] for r in records} == requests
    shown = run("explain", *recording("openai-agents-official-eventonly--weather")).out
    assert shown.count("log record gen_ai.client.inference.operation.details: merged into") == 2


def test_content_is_never_shown(run: Run) -> None:
    shown = run("explain", *recording("semconv-handmade--weather")).out
    shown += run("explain", *recording("semconv-handmade--weather"), "--json").out
    assert "Paris" not in shown
    assert "18 degrees" not in shown


def test_content_that_is_left_out_by_choice_is_not_missing(run: Run, tmp_path: Path) -> None:
    settings = tmp_path / "turns.yaml"
    settings.write_text("content: false\n", encoding="utf-8")
    files = recording("semconv-handmade--weather")
    chosen = run("explain", *files, "--config", str(settings))
    assert chosen.code == 0
    assert chosen.out == run("explain", *files).out


def test_bad_input_is_named_and_the_rest_explained(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather() + b"nonsense\n")
    ended = run("explain", str(path))
    assert ended.code == 1
    assert f"{path}:2: " in ended.err
    assert "call get_weather c1" in ended.out


def test_names_from_outside_are_shown_and_never_obeyed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(traces(span("\x1b[2Jx", 1, None, 0, 1, gen_ai__operation__name="invoke_agent")))
    assert "\\x1b[2Jx: turn" in run("explain", str(path)).out


def test_a_terminal_gets_the_same_lines_as_branches(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather())
    print_tree(accounts(explain([str(path)]).traces))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == "├── invoke_agent helper: turn, the turn's agent"
    assert lines[2] == "│   ├── chat m: request"
    assert lines[-1] == "        └── Take usage as a lower bound."
