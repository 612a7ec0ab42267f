"""Eddy's guard around the tools of a LangChain agent, or of any LangGraph graph with a ToolNode.

    pip install langchain langgraph
    eddy                                     # in another terminal
    python langgraph_guard.py                # an agent that goes in circles, and is led out

To use it, copy `Guard` and `guard_tools`:

    create_agent(model, tools, middleware=[EddyGuard()])     # LangChain 1.x
    ToolNode(tools, wrap_tool_call=guard_tools)              # a graph of your own

The run is the thread of the graph, `{"configurable": {"thread_id": ...}}`: the id under which Eddy files the spans of
OpenInference too, so that a call that is guarded and traced counts once; without a thread it is one for the process. Without a daemon the agent goes on as if nothing
of this were here.
"""

import json
import os
import urllib.request
import uuid

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Aborted(Exception):
    """The guard has ended the run."""


class Guard:
    """Asks Eddy, and goes on without an answer where there is none in time."""

    def __init__(self, api=None, patience_s=0.5):
        self.api = api or os.environ.get("EDDY_API", "127.0.0.1:4319")
        self.patience_s = patience_s

    def check(self, **call):
        return self._post("check", call) or {"verdict": "ALLOW", "degraded": True}

    def report(self, **call):
        self._post("report", call)

    def _post(self, what, body):
        request = urllib.request.Request(
            f"http://{self.api}/v1/guard/{what}",
            json.dumps(body, default=str).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.patience_s) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            print(f"eddy: the call goes on unguarded: {error}")
            return None


guard = Guard()
# The run of a graph that is called without a thread: one for the process.
UNNAMED = f"langgraph-{uuid.uuid4()}"


def guard_tools(request, handler):
    """Checks a tool call before it is made, and reports what became of it."""
    config = request.runtime.config or {}
    call = {
        "run_id": str(config.get("configurable", {}).get("thread_id", UNNAMED)),
        "agent": config.get("metadata", {}).get("lc_agent_name"),
        "tool": request.tool_call["name"],
        "arguments": request.tool_call["args"],
        "call_id": request.tool_call["id"],
    }
    verdict = guard.check(**call)
    message = verdict.get("message", "")
    if verdict["verdict"] == "ABORT":
        raise Aborted(message)
    if verdict["verdict"] == "SKIP":
        if earlier := verdict.get("previous_result"):
            message += f"\n\nThe earlier result:\n{earlier}"
        return ToolMessage(message, tool_call_id=call["call_id"], name=call["tool"])
    try:
        result = handler(request)
    except Exception as error:
        guard.report(**call, status="error", error=str(error))
        raise
    content = getattr(result, "content", None)
    failed = getattr(result, "status", "success") == "error"
    guard.report(**call, **({"status": "error", "error": content} if failed else {"status": "success", "result": content}))
    if verdict["verdict"] == "NUDGE" and isinstance(content, str):
        result.content = f"{content}\n\n{message}"
    return result


class EddyGuard(AgentMiddleware):
    """`guard_tools` for `create_agent`."""

    def wrap_tool_call(self, request, handler):
        return guard_tools(request, handler)


class Stubborn(BaseChatModel):
    """A model that asks the same thing again and again until a call of it is refused."""

    @property
    def _llm_type(self):
        return "stubborn"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        results = [message for message in messages if isinstance(message, ToolMessage)]
        refused = results and not results[-1].content.startswith("no forecast")
        if refused or len(results) == 30:
            answer = AIMessage("I cannot find the forecast.")
        else:
            call = {"name": "forecast", "args": {"city": "Bergen"}, "id": f"call-{len(results)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


if __name__ == "__main__":
    made = 0

    @tool
    def forecast(city: str) -> str:
        """The weather in a city."""
        global made
        made += 1
        return f"no forecast for {city}"

    agent = create_agent(Stubborn(), [forecast], middleware=[EddyGuard()], name="weather")
    said = agent.invoke(
        {"messages": [("user", "How will the weather be?")]},
        {"configurable": {"thread_id": "example-langgraph"}, "recursion_limit": 100},
    )
    for message in said["messages"]:
        if isinstance(message, ToolMessage):
            print(f"  {message.tool_call_id}: {message.content}")
    print(f"calls made: {made}")
