"""Eddy's guard around the tools of a LangChain agent, or of any LangGraph graph with a ToolNode.

    pip install langchain langgraph
    eddy                                     # in another terminal
    python langgraph_guard.py                # an agent that goes in circles, and is led out

To use it, copy what stands above `Stubborn`:

    create_agent(model, tools, middleware=[EddyGuard()])     # LangChain 1.x
    ToolNode(tools, wrap_tool_call=guard_tools, awrap_tool_call=guard_tools_async)  # a graph of your own

The run is the thread of the graph, `{"configurable": {"thread_id": ...}}`: the id under which Eddy files the spans of
OpenInference too, so that a call that is guarded and traced counts once; without a thread it is one for the process. Without
a daemon the agent goes on as if nothing of this were here.
"""

import asyncio
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
from langgraph.errors import GraphBubbleUp


class Aborted(Exception):
    """The guard has ended the run."""


def authorization():
    """The token that the file of EDDY_API_TOKEN_FILE holds, where the daemon asks for one."""
    path = os.environ.get("EDDY_API_TOKEN_FILE")
    if not path:
        return {}
    with open(path) as file:
        return {"authorization": f"Bearer {file.read().strip()}"}


class Guard:
    """Asks Eddy, and goes on without an answer where there is none in time."""

    def __init__(self, api=None, patience_s=0.5):
        api = api or os.environ.get("EDDY_API", "127.0.0.1:4319")
        self.api = (api if "://" in api else f"http://{api}").rstrip("/")
        self.patience_s = patience_s

    def check(self, **call):
        verdict = self._post("check", call)
        known = isinstance(verdict, dict) and "verdict" in verdict
        return verdict if known else {"verdict": "ALLOW", "degraded": True}

    def report(self, **call):
        self._post("report", call)

    def _post(self, what, body):
        try:
            request = urllib.request.Request(
                f"{self.api}/v1/guard/{what}",
                json.dumps(body, default=str).encode(),
                {"content-type": "application/json", **authorization()},
            )
            with urllib.request.urlopen(request, timeout=self.patience_s) as answer:
                return json.load(answer)
        except Exception as error:  # whatever it is: it must not cost the agent its call
            print(f"eddy: the call goes on unguarded: {error!r}")
            return None


guard = Guard()
# The run of a graph that is called without a thread: one for the process.
UNNAMED = f"langgraph-{uuid.uuid4()}"


def guard_tools(request, handler):
    """Checks a tool call before it is made, and reports what became of it."""
    call = call_of(request)
    verdict = guard.check(**call)
    if refusal := refused(call, verdict):
        return refusal
    try:
        result = handler(request)
    except GraphBubbleUp:  # a human is asked first, say: the call is made again, with the same id
        raise
    except Exception as error:
        guard.report(**call, status="error", error=str(error))
        raise
    guard.report(**call, **outcome(call, result))
    return nudged(call, result, verdict)


async def guard_tools_async(request, handler):
    """The same for graphs that are run with `ainvoke` and the like."""
    call = call_of(request)
    verdict = await asyncio.to_thread(guard.check, **call)
    if refusal := refused(call, verdict):
        return refusal
    try:
        result = await handler(request)
    except GraphBubbleUp:
        raise
    except Exception as error:
        await asyncio.to_thread(guard.report, **call, status="error", error=str(error))
        raise
    await asyncio.to_thread(guard.report, **call, **outcome(call, result))
    return nudged(call, result, verdict)


class EddyGuard(AgentMiddleware):
    """Both for `create_agent`."""

    def wrap_tool_call(self, request, handler):
        return guard_tools(request, handler)

    async def awrap_tool_call(self, request, handler):
        return await guard_tools_async(request, handler)


def call_of(request):
    """What the guard is told of a call."""
    config = request.runtime.config or {}
    return {
        "run_id": str(config.get("configurable", {}).get("thread_id", UNNAMED)),
        "agent": config.get("metadata", {}).get("lc_agent_name"),
        "tool": request.tool_call["name"],
        "arguments": request.tool_call["args"],
        "call_id": request.tool_call["id"],
    }


def refused(call, verdict):
    """What stands in the place of the result of a call that is not to be made."""
    message = verdict.get("message", "")
    if verdict["verdict"] == "ABORT":
        raise Aborted(message)
    if verdict["verdict"] != "SKIP":
        return None
    if earlier := verdict.get("previous_result"):
        message += f"\n\nThe earlier result:\n{earlier}"
    return ToolMessage(message, tool_call_id=call["call_id"], name=call["tool"])


def outcome(call, result):
    """What the guard is told of a result."""
    said = message_of(call, result)
    if said is None:
        return {"status": "success"}
    if said.status == "error":
        return {"status": "error", "error": said.content}
    return {"status": "success", "result": said.content}


def nudged(call, result, verdict):
    """The result, with what the guard has to say to the agent."""
    said = message_of(call, result)
    if verdict["verdict"] == "NUDGE" and said is not None:
        note = verdict.get("message", "")
        if isinstance(said.content, str):
            said.content = f"{said.content}\n\n{note}"
        else:
            said.content = [*said.content, {"type": "text", "text": note}]
    return result


def message_of(call, result):
    """The tool's message, which may stand within a Command."""
    update = getattr(result, "update", None)
    messages = update.get("messages", []) if isinstance(update, dict) else [result]
    of_call = (m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call["call_id"])
    return next(of_call, None)


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
        {"configurable": {"thread_id": f"example-langgraph-{uuid.uuid4()}"}, "recursion_limit": 100},
    )
    for message in said["messages"]:
        if isinstance(message, ToolMessage):
            print(f"  {message.tool_call_id}: {message.content}")
    print(f"calls made: {made}")
