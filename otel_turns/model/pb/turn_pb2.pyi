from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PushRequest(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[Record]
    def __init__(self, records: _Optional[_Iterable[_Union[Record, _Mapping]]] = ...) -> None: ...

class PushResponse(_message.Message):
    __slots__ = ("statuses",)
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    statuses: _containers.RepeatedCompositeFieldContainer[RecordStatus]
    def __init__(self, statuses: _Optional[_Iterable[_Union[RecordStatus, _Mapping]]] = ...) -> None: ...

class RecordStatus(_message.Message):
    __slots__ = ("turn_id", "revision", "code", "message", "retry_after_ms")
    class Code(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CODE_UNSPECIFIED: _ClassVar[RecordStatus.Code]
        CODE_ACCEPTED: _ClassVar[RecordStatus.Code]
        CODE_DUPLICATE: _ClassVar[RecordStatus.Code]
        CODE_REJECTED: _ClassVar[RecordStatus.Code]
        CODE_RETRY: _ClassVar[RecordStatus.Code]
    CODE_UNSPECIFIED: RecordStatus.Code
    CODE_ACCEPTED: RecordStatus.Code
    CODE_DUPLICATE: RecordStatus.Code
    CODE_REJECTED: RecordStatus.Code
    CODE_RETRY: RecordStatus.Code
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    revision: int
    code: RecordStatus.Code
    message: str
    retry_after_ms: int
    def __init__(self, turn_id: _Optional[str] = ..., revision: _Optional[int] = ..., code: _Optional[_Union[RecordStatus.Code, str]] = ..., message: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("turn", "otel")
    TURN_FIELD_NUMBER: _ClassVar[int]
    OTEL_FIELD_NUMBER: _ClassVar[int]
    turn: Turn
    otel: Otel
    def __init__(self, turn: _Optional[_Union[Turn, _Mapping]] = ..., otel: _Optional[_Union[Otel, _Mapping]] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("events", "data", "status", "usage")
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATUS_UNSPECIFIED: _ClassVar[Turn.Status]
        STATUS_COMPLETED: _ClassVar[Turn.Status]
        STATUS_FAILED: _ClassVar[Turn.Status]
        STATUS_WAITING: _ClassVar[Turn.Status]
    STATUS_UNSPECIFIED: Turn.Status
    STATUS_COMPLETED: Turn.Status
    STATUS_FAILED: Turn.Status
    STATUS_WAITING: Turn.Status
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[StreamEvent]
    data: JsonValue
    status: Turn.Status
    usage: Usage
    def __init__(self, events: _Optional[_Iterable[_Union[StreamEvent, _Mapping]]] = ..., data: _Optional[_Union[JsonValue, _Mapping]] = ..., status: _Optional[_Union[Turn.Status, str]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens", "requests", "cost_usd")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_READ_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_CREATION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASONING_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int
    reasoning_tokens: int
    requests: int
    cost_usd: float
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cache_read_tokens: _Optional[int] = ..., cache_creation_tokens: _Optional[int] = ..., reasoning_tokens: _Optional[int] = ..., requests: _Optional[int] = ..., cost_usd: _Optional[float] = ...) -> None: ...

class StreamEvent(_message.Message):
    __slots__ = ("message", "operation_started", "operation_finished", "skill_loaded", "input_requested", "thinking", "compaction", "error")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_STARTED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FINISHED_FIELD_NUMBER: _ClassVar[int]
    SKILL_LOADED_FIELD_NUMBER: _ClassVar[int]
    INPUT_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    COMPACTION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    message: Message
    operation_started: OperationStarted
    operation_finished: OperationFinished
    skill_loaded: SkillLoaded
    input_requested: InputRequest
    thinking: Thinking
    compaction: Compaction
    error: Error
    def __init__(self, message: _Optional[_Union[Message, _Mapping]] = ..., operation_started: _Optional[_Union[OperationStarted, _Mapping]] = ..., operation_finished: _Optional[_Union[OperationFinished, _Mapping]] = ..., skill_loaded: _Optional[_Union[SkillLoaded, _Mapping]] = ..., input_requested: _Optional[_Union[InputRequest, _Mapping]] = ..., thinking: _Optional[_Union[Thinking, _Mapping]] = ..., compaction: _Optional[_Union[Compaction, _Mapping]] = ..., error: _Optional[_Union[Error, _Mapping]] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("role", "text", "loc")
    class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ROLE_UNSPECIFIED: _ClassVar[Message.Role]
        ROLE_ASSISTANT: _ClassVar[Message.Role]
        ROLE_USER: _ClassVar[Message.Role]
    ROLE_UNSPECIFIED: Message.Role
    ROLE_ASSISTANT: Message.Role
    ROLE_USER: Message.Role
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LOC_FIELD_NUMBER: _ClassVar[int]
    role: Message.Role
    text: str
    loc: JsonValue
    def __init__(self, role: _Optional[_Union[Message.Role, str]] = ..., text: _Optional[str] = ..., loc: _Optional[_Union[JsonValue, _Mapping]] = ...) -> None: ...

class OperationStarted(_message.Message):
    __slots__ = ("operation_id", "tool", "subagent")
    class Tool(_message.Message):
        __slots__ = ("name", "input", "tool")
        NAME_FIELD_NUMBER: _ClassVar[int]
        INPUT_FIELD_NUMBER: _ClassVar[int]
        TOOL_FIELD_NUMBER: _ClassVar[int]
        name: str
        input: JsonValue
        tool: str
        def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[JsonValue, _Mapping]] = ..., tool: _Optional[str] = ...) -> None: ...
    class Subagent(_message.Message):
        __slots__ = ("name", "remote_url")
        NAME_FIELD_NUMBER: _ClassVar[int]
        REMOTE_URL_FIELD_NUMBER: _ClassVar[int]
        name: str
        remote_url: str
        def __init__(self, name: _Optional[str] = ..., remote_url: _Optional[str] = ...) -> None: ...
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    SUBAGENT_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    tool: OperationStarted.Tool
    subagent: OperationStarted.Subagent
    def __init__(self, operation_id: _Optional[str] = ..., tool: _Optional[_Union[OperationStarted.Tool, _Mapping]] = ..., subagent: _Optional[_Union[OperationStarted.Subagent, _Mapping]] = ...) -> None: ...

class OperationFinished(_message.Message):
    __slots__ = ("operation_id", "kind", "output", "status")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[OperationFinished.Kind]
        KIND_TOOL: _ClassVar[OperationFinished.Kind]
        KIND_SUBAGENT: _ClassVar[OperationFinished.Kind]
    KIND_UNSPECIFIED: OperationFinished.Kind
    KIND_TOOL: OperationFinished.Kind
    KIND_SUBAGENT: OperationFinished.Kind
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATUS_UNSPECIFIED: _ClassVar[OperationFinished.Status]
        STATUS_COMPLETED: _ClassVar[OperationFinished.Status]
        STATUS_FAILED: _ClassVar[OperationFinished.Status]
        STATUS_REJECTED: _ClassVar[OperationFinished.Status]
    STATUS_UNSPECIFIED: OperationFinished.Status
    STATUS_COMPLETED: OperationFinished.Status
    STATUS_FAILED: OperationFinished.Status
    STATUS_REJECTED: OperationFinished.Status
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    kind: OperationFinished.Kind
    output: JsonValue
    status: OperationFinished.Status
    def __init__(self, operation_id: _Optional[str] = ..., kind: _Optional[_Union[OperationFinished.Kind, str]] = ..., output: _Optional[_Union[JsonValue, _Mapping]] = ..., status: _Optional[_Union[OperationFinished.Status, str]] = ...) -> None: ...

class SkillLoaded(_message.Message):
    __slots__ = ("skill", "operation_id")
    SKILL_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    skill: str
    operation_id: str
    def __init__(self, skill: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class InputRequest(_message.Message):
    __slots__ = ("id", "action", "input", "prompt", "options")
    class Option(_message.Message):
        __slots__ = ("id", "label")
        ID_FIELD_NUMBER: _ClassVar[int]
        LABEL_FIELD_NUMBER: _ClassVar[int]
        id: str
        label: str
        def __init__(self, id: _Optional[str] = ..., label: _Optional[str] = ...) -> None: ...
    class Options(_message.Message):
        __slots__ = ("values",)
        VALUES_FIELD_NUMBER: _ClassVar[int]
        values: _containers.RepeatedCompositeFieldContainer[InputRequest.Option]
        def __init__(self, values: _Optional[_Iterable[_Union[InputRequest.Option, _Mapping]]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    action: str
    input: JsonValue
    prompt: str
    options: InputRequest.Options
    def __init__(self, id: _Optional[str] = ..., action: _Optional[str] = ..., input: _Optional[_Union[JsonValue, _Mapping]] = ..., prompt: _Optional[str] = ..., options: _Optional[_Union[InputRequest.Options, _Mapping]] = ...) -> None: ...

class Thinking(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Compaction(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class Otel(_message.Message):
    __slots__ = ("turn_id", "revision", "trace_id", "root_span_id", "session_id", "turn_number", "agent", "service", "start_time_unix_nano", "end_time_unix_nano", "event_times_unix_nano", "event_spans", "conventions", "annotations", "evidence")
    class Agent(_message.Message):
        __slots__ = ("name", "id", "version")
        NAME_FIELD_NUMBER: _ClassVar[int]
        ID_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        name: str
        id: str
        version: str
        def __init__(self, name: _Optional[str] = ..., id: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...
    class Service(_message.Message):
        __slots__ = ("name", "version")
        NAME_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        name: str
        version: str
        def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...
    class Annotations(_message.Message):
        __slots__ = ("values",)
        VALUES_FIELD_NUMBER: _ClassVar[int]
        values: _containers.RepeatedCompositeFieldContainer[Annotation]
        def __init__(self, values: _Optional[_Iterable[_Union[Annotation, _Mapping]]] = ...) -> None: ...
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_NUMBER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    START_TIME_UNIX_NANO_FIELD_NUMBER: _ClassVar[int]
    END_TIME_UNIX_NANO_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIMES_UNIX_NANO_FIELD_NUMBER: _ClassVar[int]
    EVENT_SPANS_FIELD_NUMBER: _ClassVar[int]
    CONVENTIONS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    revision: int
    trace_id: bytes
    root_span_id: bytes
    session_id: str
    turn_number: int
    agent: Otel.Agent
    service: Otel.Service
    start_time_unix_nano: int
    end_time_unix_nano: int
    event_times_unix_nano: _containers.RepeatedScalarFieldContainer[int]
    event_spans: _containers.RepeatedScalarFieldContainer[bytes]
    conventions: _containers.RepeatedScalarFieldContainer[str]
    annotations: Otel.Annotations
    evidence: Evidence
    def __init__(self, turn_id: _Optional[str] = ..., revision: _Optional[int] = ..., trace_id: _Optional[bytes] = ..., root_span_id: _Optional[bytes] = ..., session_id: _Optional[str] = ..., turn_number: _Optional[int] = ..., agent: _Optional[_Union[Otel.Agent, _Mapping]] = ..., service: _Optional[_Union[Otel.Service, _Mapping]] = ..., start_time_unix_nano: _Optional[int] = ..., end_time_unix_nano: _Optional[int] = ..., event_times_unix_nano: _Optional[_Iterable[int]] = ..., event_spans: _Optional[_Iterable[bytes]] = ..., conventions: _Optional[_Iterable[str]] = ..., annotations: _Optional[_Union[Otel.Annotations, _Mapping]] = ..., evidence: _Optional[_Union[Evidence, _Mapping]] = ...) -> None: ...

class Annotation(_message.Message):
    __slots__ = ("time_unix_nano", "span_id", "type", "data")
    TIME_UNIX_NANO_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    time_unix_nano: int
    span_id: bytes
    type: str
    data: JsonValue
    def __init__(self, time_unix_nano: _Optional[int] = ..., span_id: _Optional[bytes] = ..., type: _Optional[str] = ..., data: _Optional[_Union[JsonValue, _Mapping]] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("complete", "issues")
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    ISSUES_FIELD_NUMBER: _ClassVar[int]
    complete: bool
    issues: _containers.RepeatedCompositeFieldContainer[Issue]
    def __init__(self, complete: bool = ..., issues: _Optional[_Iterable[_Union[Issue, _Mapping]]] = ...) -> None: ...

class Issue(_message.Message):
    __slots__ = ("code", "message", "span_id", "operation_id")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    span_id: bytes
    operation_id: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., span_id: _Optional[bytes] = ..., operation_id: _Optional[str] = ...) -> None: ...

class JsonValue(_message.Message):
    __slots__ = ("null", "boolean", "integer", "big_integer", "number", "text", "list", "object", "json")
    class Null(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NULL_VALUE: _ClassVar[JsonValue.Null]
    NULL_VALUE: JsonValue.Null
    NULL_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    BIG_INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    null: JsonValue.Null
    boolean: bool
    integer: int
    big_integer: str
    number: float
    text: str
    list: JsonList
    object: JsonObject
    json: str
    def __init__(self, null: _Optional[_Union[JsonValue.Null, str]] = ..., boolean: bool = ..., integer: _Optional[int] = ..., big_integer: _Optional[str] = ..., number: _Optional[float] = ..., text: _Optional[str] = ..., list: _Optional[_Union[JsonList, _Mapping]] = ..., object: _Optional[_Union[JsonObject, _Mapping]] = ..., json: _Optional[str] = ...) -> None: ...

class JsonList(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[JsonValue]
    def __init__(self, values: _Optional[_Iterable[_Union[JsonValue, _Mapping]]] = ...) -> None: ...

class JsonObject(_message.Message):
    __slots__ = ("members",)
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[JsonMember]
    def __init__(self, members: _Optional[_Iterable[_Union[JsonMember, _Mapping]]] = ...) -> None: ...

class JsonMember(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: JsonValue
    def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[JsonValue, _Mapping]] = ...) -> None: ...
