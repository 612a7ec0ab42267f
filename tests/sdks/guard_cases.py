"""What the guard's examples in Python do beside their own agents: with graphs that are run asynchronously, with results that
are lists or stand within commands, and with something that answers in the daemon's place.

    EDDY_API=127.0.0.1:4319 PYTHONPATH=../../examples python guard_cases.py
"""

import asyncio
import socket
import threading
import uuid
from typing import Annotated

import langgraph_guard
import openai_agents_guard
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command


@tool
def in_text(city: str) -> str:
    """The weather in a city."""
    return f"no forecast for {city}"


@tool
def in_list(city: str) -> list:
    """The weather in a city."""
    return [{"type": "text", "text": f"no forecast for {city}"}]


@tool
def in_command(city: str, call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """The weather in a city."""
    return Command(update={"messages": [ToolMessage(f"no forecast for {city}", tool_call_id=call_id)]})


class Stubborn(langgraph_guard.Stubborn):
    """Ends once a result has no forecast in it, wherever in the result that stands."""

    def _generate(self, messages, stop=None, run_manager=None, **more):
        texts = [m.model_copy(update={"content": text_of(m)}) if isinstance(m, ToolMessage) else m for m in messages]
        return super()._generate(texts, stop, run_manager, **more)


def text_of(message):
    """A result's text, whatever form it has."""
    content = message.content
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def results(forecast, is_async):
    """The results of the calls of an agent with a tool, as its model sees them."""
    forecast = forecast.model_copy(update={"name": "forecast"})
    agent = create_agent(Stubborn(), [forecast], middleware=[langgraph_guard.EddyGuard()], name="weather")
    asked = {"messages": [("user", "How will the weather be?")]}
    config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 100}
    said = asyncio.run(agent.ainvoke(asked, config)) if is_async else agent.invoke(asked, config)
    return [text_of(message) for message in said["messages"] if isinstance(message, ToolMessage)]


def answering(answer):
    """The address of a server that says one thing, whatever it is asked."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer_all():
        while True:
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(answer)

    threading.Thread(target=answer_all, daemon=True).start()
    return "%s:%d" % server.getsockname()


for forecast in (in_text, in_list, in_command):
    for is_async in (False, True):
        given = results(forecast, is_async)
        made = [text for text in given if text.startswith("no forecast")]
        assert len(made) == len(given) - 1 <= 8, (forecast.name, is_async, given)
        assert any("\n" in text for text in made), ("no nudge", forecast.name, is_async, given)

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: "
for answer in (b"SSH-2.0-OpenSSH_9.2\r\n", HEAD + b'200\r\n\r\n{"verdict":', HEAD + b"2\r\n\r\n[]", HEAD + b"2\r\n\r\n{}"):
    api = answering(answer)
    langgraph_guard.guard.api = api
    allowed = [langgraph_guard.guard.check(run_id="r", tool="t")]
    langgraph_guard.guard.report(run_id="r", tool="t", status="success")
    allowed.append(asyncio.run(openai_agents_guard.Guard(api).check({"run_id": "r", "tool": "t"})))
    assert all(verdict["verdict"] == "ALLOW" for verdict in allowed), (answer, allowed)
print("ok")
