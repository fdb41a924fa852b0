// The types of the event stream reference, as that document writes them down: facts that ours are held against.
// The document names SourceLoc, ToolName and JsonValue without writing them out. JsonValue is JSON; of SourceLoc nothing
// is known but that it is an object; the names of ToolName are those that the mapping rules list.

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type SourceLoc = { [key: string]: JsonValue };
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

export interface Turn {
  events: StreamEvent[];
  data?: JsonValue;
  status: "completed" | "failed" | "waiting";
  usage?: Usage;
}

export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheCreationTokens?: number;
  reasoningTokens?: number;
  requests?: number;
  costUSD?: number;
}

export interface InputRequest {
  id?: string;
  action?: string;
  input?: JsonValue;
  prompt?: string;
  options?: { id: string; label?: string }[];
}

export type StreamEvent =
  | { type: "message"; role: "assistant" | "user"; text: string; loc?: SourceLoc }
  | {
      type: "operation.started";
      operationId: string;
      operation:
        | { kind: "tool"; name: string; input: JsonValue; tool?: ToolName }
        | { kind: "subagent"; name: string; remoteUrl?: string };
    }
  | {
      type: "operation.finished";
      operationId: string;
      kind: "tool";
      output?: JsonValue;
      status: "completed" | "failed" | "rejected";
    }
  | {
      type: "operation.finished";
      operationId: string;
      kind: "subagent";
      output?: JsonValue;
      status: "completed" | "failed";
    }
  | { type: "skill.loaded"; skill: string; operationId?: string }
  | { type: "input.requested"; request: InputRequest }
  | { type: "thinking"; text: string }
  | { type: "compaction"; reason?: string }
  | { type: "error"; message: string };
