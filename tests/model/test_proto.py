"""A record survives the way through protobuf unchanged, and the generated code says what the .proto file
says.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given

from otel_turns.model import proto
from otel_turns.model.pb import turn_pb2 as pb
from otel_turns.model.proto_json import DEPTH, decode, encode
from tests.model.examples import EVENTS, RECORD, TURN, record, turn
from tests.model.strategies import json_values, records, turns

PROTO = Path(__file__).parents[2] / "proto"


def through(value: dict[str, Any]) -> dict[str, Any]:
    return proto.from_proto(pb.Record.FromString(proto.to_proto(value).SerializeToString()))


def json_through(value: Any) -> Any:
    message = pb.JsonValue()
    encode(value, message)
    return decode(pb.JsonValue.FromString(message.SerializeToString()))


def exact(value: Any) -> str:
    """As JSON text, which tells 1 from 1.0 and true, 0.0 from -0.0, and shows the order of members."""
    return json.dumps(value, ensure_ascii=False)


def test_the_generated_code_says_what_the_proto_file_says(tmp_path: Path) -> None:
    out = tmp_path / "turn.binpb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--descriptor_set_out={out}"]
    subprocess.run([*command, "otel_turns/v1/turn.proto"], check=True)
    [wanted] = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    generated = descriptor_pb2.FileDescriptorProto.FromString(pb.DESCRIPTOR.serialized_pb)
    for each in (wanted, generated):
        forget_json_names(each.message_type)
    assert generated == wanted, "run proto/generate.py"


def forget_json_names(messages: Any) -> None:
    """The compiler writes the usual JSON names into a descriptor set and leaves them out of code."""
    for message in messages:
        for field in message.field:
            field.ClearField("json_name")
        forget_json_names(message.nested_type)


def test_the_service_is_there() -> None:
    from otel_turns.model.pb import turn_pb2_grpc

    assert {method.name for method in pb.DESCRIPTOR.services_by_name["TurnSinkService"].methods} == {
        "Push",
        "PushStream",
    }
    assert hasattr(turn_pb2_grpc, "TurnSinkServiceStub")


@pytest.mark.parametrize("value", [TURN, RECORD, turn(), record()])
def test_examples_come_back(value: dict[str, Any]) -> None:
    assert through(value) == value


@pytest.mark.parametrize("name", EVENTS)
def test_each_variant_comes_back(name: str) -> None:
    assert exact(through(turn(EVENTS[name]))["events"]) == exact([EVENTS[name]])


@given(records)
def test_any_record_comes_back(value: dict[str, Any]) -> None:
    assert through(value) == value


@given(turns)
def test_any_turn_comes_back(value: dict[str, Any]) -> None:
    assert through(value) == value


@given(json_values)
def test_any_json_value_comes_back_to_the_letter(value: Any) -> None:
    assert exact(json_through(value)) == exact(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        0.0,
        -0.0,
        1,
        1.0,
        5e-324,
        1.7976931348623157e308,
        2**63 - 1,
        2**63,
        -(2**63),
        -(2**63) - 1,
        10**300,
        "",
        "\0é👋",
        [],
        {},
        {"": None},
        [[], {}, [None]],
        {"b": 1, "a": 2, "10": 3, "9": 4},
    ],
)
def test_values_at_the_edges_come_back_to_the_letter(value: Any) -> None:
    assert exact(json_through(value)) == exact(value)


@pytest.mark.parametrize("depth", [1, DEPTH, DEPTH + 1, 200])
def test_deep_values_come_back_from_a_message_of_bounded_depth(depth: int) -> None:
    value: Any = 1.0
    for level in range(depth):
        value = {"b": [value], "a": level} if level % 2 else [value]
    event = {**EVENTS["operation.started tool"], "operation": {"kind": "tool", "name": "n", "input": value}}
    back = through(turn(event, data=value))
    assert exact(back["events"]) == exact([event])
    assert exact(back["data"]) == exact(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (turn({**EVENTS["message"], "more": 1}), "events[0].more"),
        (turn({**EVENTS["message"], "loc": {"s3cret": float("nan")}}), "events[0].loc"),
        ({**TURN, "usage": {"inputTokens": True}}, "usage.inputTokens"),
        ({"events": []}, "status"),
    ],
)
def test_what_is_no_right_record_is_refused(value: dict[str, Any], path: str) -> None:
    with pytest.raises(proto.UnfitRecord) as caught:
        proto.to_proto(value)
    assert str(caught.value).startswith(path + ": ")


@pytest.mark.parametrize(
    "value",
    [
        turn(usage={"inputTokens": 2**64}),
        turn({"type": "s3cret"}),
        turn({**EVENTS["message"], "text": ["s3cret"]}),
        turn(data={"s3cret": {1, 2}}),
        {"status": "s3cret", "events": []},
    ],
)
def test_what_a_message_cannot_hold_is_refused_without_showing_it(value: dict[str, Any]) -> None:
    with pytest.raises(proto.UnfitRecord) as caught:
        proto.to_proto(value, checked=True)
    assert "s3cret" not in str(caught.value)


def unfinished_messages() -> list[pb.Record]:
    good = pb.Turn.STATUS_COMPLETED
    tool = pb.OperationStarted.Tool(name="n")
    return [
        pb.Record(),
        pb.Record(turn=pb.Turn(status=good, events=[pb.StreamEvent()])),
        pb.Record(turn=pb.Turn(status=good, events=[pb.StreamEvent(message=pb.Message(text="a"))])),
        pb.Record(
            turn=pb.Turn(status=good, events=[pb.StreamEvent(operation_started=pb.OperationStarted())])
        ),
        pb.Record(
            turn=pb.Turn(
                status=good, events=[pb.StreamEvent(operation_started=pb.OperationStarted(tool=tool))]
            )
        ),
        pb.Record(turn=pb.Turn(status=good, data=pb.JsonValue())),
        pb.Record(turn=pb.Turn(status=good, data=pb.JsonValue(json="{"))),
        pb.Record(turn=pb.Turn(status=good, data=pb.JsonValue(big_integer="x"))),
        pb.Record.FromString(b"\x0a\x02\x18\x63"),  # a turn whose status is number 99
    ]


@pytest.mark.parametrize("index", range(len(unfinished_messages())))
def test_a_message_that_is_no_record_is_refused(index: int) -> None:
    with pytest.raises(proto.UnfitRecord):
        proto.from_proto(unfinished_messages()[index])


def test_a_status_answers_each_record() -> None:
    codes = {value.name: value.number for value in pb.RecordStatus.Code.DESCRIPTOR.values}
    assert codes == {
        "CODE_UNSPECIFIED": 0,
        "CODE_ACCEPTED": 1,
        "CODE_DUPLICATE": 2,
        "CODE_REJECTED": 3,
        "CODE_RETRY": 4,
    }
