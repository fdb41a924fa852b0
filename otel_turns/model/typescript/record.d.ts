/**
 * A Turn, its events, and the record that a sink gets, for consumers in TypeScript.
 *
 * `StreamEvent` and `Turn` are the standard event stream's own shapes. Absent members are left out and never null.
 * A record is a Turn with one member more, `otel`: pass it on wherever a Turn is wanted.
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Where in a program's source a message was written; what it holds is not told. */
export type SourceLoc = { [key: string]: JsonValue };

/** Canonical names for the built-in tools of coding agents. */
export type ToolName =
  | "file_read"
  | "file_write"
  | "file_edit"
  | "shell"
  | "web_fetch"
  | "web_search"
  | "glob"
  | "grep"
  | "list_dir"
  | "agent_task"
  | "unknown";

export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheCreationTokens?: number;
  reasoningTokens?: number;
  /** Model requests that were seen. */
  requests?: number;
  /** Measured by the host and handed over; never inferred from spans. */
  costUSD?: number;
}

export interface InputOption {
  id: string;
  label?: string;
}

export interface InputRequest {
  id?: string;
  /** What the agent paused on, such as a tool's name. */
  action?: string;
  /** The arguments of that action. */
  input?: JsonValue;
  prompt?: string;
  options?: InputOption[];
}

export interface MessageEvent {
  type: "message";
  role: "assistant" | "user";
  text: string;
  loc?: SourceLoc;
}

export interface ToolOperation {
  kind: "tool";
  name: string;
  /** null where no witness says it. */
  input: JsonValue;
  /** Only for coding agents' own tools. */
  tool?: ToolName;
}

export interface SubagentOperation {
  kind: "subagent";
  name: string;
  remoteUrl?: string;
}

export interface OperationStarted {
  type: "operation.started";
  operationId: string;
  operation: ToolOperation | SubagentOperation;
}

export interface ToolOperationFinished {
  type: "operation.finished";
  operationId: string;
  kind: "tool";
  output?: JsonValue;
  /** rejected: a human or a rule refused. */
  status: "completed" | "failed" | "rejected";
}

export interface SubagentOperationFinished {
  type: "operation.finished";
  operationId: string;
  kind: "subagent";
  output?: JsonValue;
  status: "completed" | "failed";
}

export interface SkillLoaded {
  type: "skill.loaded";
  skill: string;
  operationId?: string;
}

export interface InputRequested {
  type: "input.requested";
  request: InputRequest;
}

export interface ThinkingEvent {
  type: "thinking";
  text: string;
}

export interface CompactionEvent {
  type: "compaction";
  reason?: string;
}

export interface ErrorEvent {
  type: "error";
  message: string;
}

export type StreamEvent =
  | MessageEvent
  | OperationStarted
  | ToolOperationFinished
  | SubagentOperationFinished
  | SkillLoaded
  | InputRequested
  | ThinkingEvent
  | CompactionEvent
  | ErrorEvent;

export interface Turn {
  /** In the order in which they happened. */
  events: StreamEvent[];
  /** The answer, where the answer itself is structured. */
  data?: JsonValue;
  status: "completed" | "failed" | "waiting";
  usage?: Usage;
}

export type EvidenceCode =
  | "content_not_captured"
  | "root_missing"
  | "root_unfinished"
  | "orphan_spans"
  | "spans_dropped"
  | "span_events_dropped"
  | "attributes_dropped"
  | "truncated_value"
  | "operation_unfinished"
  | "operation_unstarted"
  | "synthetic_operation_id"
  | "unparsable_json"
  | "malformed_event"
  | "malformed_span"
  | "clock_skew"
  | "usage_partial"
  | "late_spans"
  | "unread_spans"
  | "over_limit";

export interface Issue {
  code: EvidenceCode;
  message: string;
  spanId?: string;
  operationId?: string;
}

export interface Evidence {
  /** true only where no issue says that something is missing. */
  complete: boolean;
  issues: Issue[];
}

export interface Annotation {
  timeUnixNano: string;
  spanId: string;
  type: string;
  data?: JsonValue;
}

export interface Agent {
  name?: string;
  id?: string;
  version?: string;
}

export interface Service {
  name?: string;
  version?: string;
}

export interface Otel {
  /** The same for the same spans; of several records with one turnId the highest revision counts. */
  turnId: string;
  revision: number;
  /** 32 hex digits, or empty where the Turn stands on log records without spans. */
  traceId: string;
  /** 16 hex digits, or empty as traceId. */
  rootSpanId: string;
  sessionId?: string;
  /** The number of the turn within its session, from 1, where it is known. */
  turnNumber?: number;
  agent?: Agent;
  service?: Service;
  /** Nanoseconds since 1970 as decimal text: a number would lose digits. */
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  /** One for each event. */
  eventTimes: string[];
  /** One for each event; empty text where no span told of it. */
  eventSpans: string[];
  conventions: string[];
  annotations?: Annotation[];
  evidence: Evidence;
}

export interface Record extends Turn {
  otel: Otel;
}
