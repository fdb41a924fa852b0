"""What Qwen Code's values mean, in its spans and in its log records alike.

Comes in: prompt ids, results and the Facts that are being filled. Goes out: Facts filled further. It never
says that a human was asked where a rule, a mode or a hook refused.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.coding_tools import QWEN_CODE
from otel_turns.dialects.values import as_text, is_list, is_object, is_placeholder, json_value
from otel_turns.model.facts import MISSING, Decision, Facts, Question

__all__ = ["human_refused", "own_tool", "own_words", "prompt_of", "rule_refused", "unwrap_output"]

_MAIN = "########"
_INTERNAL = frozenset({"prompt_suggestion", "forked_query", "speculation"})
_SIDE_QUERY = "side-query:"
_OWN_AGENTS = "managed-"
_CUT = ("...[truncated]", "…[truncated]", "...[TRUNCATED]")
_CUT_AT_LIMIT = "\n\n[TRUNCATED - Content exceeds"
_STOCK_ERRORS = frozenset(
    {
        "API call failed",
        "API call aborted",
        "Background agent cannot prompt for confirmation",
        "Non-interactive mode declined permission",
        "Permission denied by permission_request hook",
        "Permission denied for tool",
        "Plan mode blocked a non-read-only tool call",
        "Tool execution blocked by hook",
        "Tool execution blocked by host policy",
        "Tool execution cancelled by user",
        "Tool execution failed",
        "Tool execution failed with exception",
        "Tool execution stopped by hook",
        "Tool execution timed out",
        "tool error",
        "unexpected exit",
        "unknown error",
    }
)
_STARTED_BEHIND = "Background agent launched"


def prompt_of(prompt_id: Any, agent: Any, facts: Facts) -> None:
    """What a prompt id says: the turn it belongs to, the sub-agent, or that the program itself asked.

    `agent`: the name of the sub-agent that asks, where there is one.
    """
    name = as_text(agent)
    if name is not None:
        facts.agent_name = name
        if name.startswith(_OWN_AGENTS):
            facts.side = True
    text = as_text(prompt_id)
    if text is None:
        return
    if text in _INTERNAL or text.startswith(_SIDE_QUERY):
        facts.side = True
    elif _MAIN in text:
        facts.group = text
    else:
        pieces = text.split("#")
        if len(pieces) == 3 and pieces[1]:
            facts.agent_id = pieces[1]
            if pieces[1].startswith(_OWN_AGENTS):
                facts.side = True


def own_words(error: Any) -> str | None:
    """An error's words; None for the fixed phrase of its kind, since another witness has the words."""
    text = as_text(error)
    return None if text in _STOCK_ERRORS else text


def unwrap_output(value: Any, facts: Facts) -> Any:
    """A function's response is `{"output": x}`, or `{"error": x}`."""
    if is_object(value) and len(value) == 1:
        inner = value.get("output", value.get("error"))
        if inner is not None:
            value = json_value(inner)
    if type(value) is str:
        if is_placeholder(value):
            return MISSING
        if value.endswith(_CUT) or _CUT_AT_LIMIT in value[-120:]:
            facts.cut.add("result")
    return value


def human_refused(facts: Facts) -> None:
    """A human was asked, and the call did not run."""
    facts.rejected = True
    facts.questions.append(Question(call_id=facts.call_id, answered=True))
    facts.decisions.append(Decision(False, facts.call_id))


def rule_refused(facts: Facts) -> None:
    """A rule, a mode or a hook said no, and nobody was asked."""
    facts.rejected = True
    facts.decisions.append(Decision(False, facts.call_id))


def own_tool(facts: Facts) -> None:
    """What Qwen Code's own tools mean: canonical name, agent reached, skill loaded, questions put."""
    name = facts.tool_name
    if name is None:
        return
    facts.tool = QWEN_CODE.get(name)
    arguments: Any = facts.arguments if is_object(facts.arguments) else {}
    if name in ("agent", "task"):
        facts.delegates_to = as_text(arguments.get("subagent_type")) or name
        started = type(facts.result) is str and facts.result.startswith(_STARTED_BEHIND)
        facts.background = started or arguments.get("run_in_background") is True
    elif name == "skill":
        facts.skill = as_text(arguments.get("skill"))
    elif name == "structured_output":
        facts.hands_over = True
        if arguments and "__redacted" not in arguments:
            facts.data = arguments
    elif name == "ask_user_question":
        _question(arguments, facts)


def _question(arguments: dict[str, Any], facts: Facts) -> None:
    questions = arguments.get("questions")
    first = questions[0] if is_list(questions) and questions else None
    if not is_object(first):
        return
    given = first.get("options")
    labels = [as_text(option.get("label")) for option in given if is_object(option)] if is_list(given) else []
    facts.questions.append(
        Question(
            action=facts.tool_name,
            input=arguments,
            prompt=as_text(first.get("question")),
            options=[{"id": label, "label": label} for label in labels if label] or None,
            call_id=facts.call_id,
        )
    )
