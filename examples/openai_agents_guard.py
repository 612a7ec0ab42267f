"""Eddy's guard as tool guardrails of the OpenAI Agents SDK.

    pip install openai-agents
    eddy                                     # in another terminal
    python openai_agents_guard.py            # an agent that goes in circles, and is led out

To use it, copy `Guard` and the two guardrails, and name them at each tool:

    @function_tool(tool_input_guardrails=[eddy_before], tool_output_guardrails=[eddy_after])

The run is the OpenTelemetry trace where there is one, which is the id under which Eddy files the spans; else the SDK's own
group or trace; else one for the process. Without a daemon the agent goes on as if nothing of this were here.
"""

import asyncio
import json
import os
import urllib.request
import uuid

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    ToolGuardrailFunctionOutput,
    Usage,
    function_tool,
    set_tracing_disabled,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agents.tracing import get_current_trace
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


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

    async def check(self, call):
        verdict = await asyncio.to_thread(self._post, "check", call)
        known = isinstance(verdict, dict) and "verdict" in verdict
        return verdict if known else {"verdict": "ALLOW", "degraded": True}

    async def report(self, call):
        await asyncio.to_thread(self._post, "report", call)

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
# The run of whoever traces nothing: one for the process.
UNTRACED = f"openai-agents-{uuid.uuid4()}"
# Nudges that wait for the result of their call, by the call's id.
nudges = {}


def run_id():
    """The id under which Eddy files this run."""
    try:
        from opentelemetry import trace

        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            return f"{span.trace_id:032x}"
    except ImportError:
        pass
    current = get_current_trace()
    names = [getattr(current, name, None) for name in ("group_id", "trace_id")]
    return next((name for name in names if name and name != "no-op"), UNTRACED)


def told(data):
    """What the guard is told of a call."""
    return {
        "run_id": run_id(),
        "agent": data.agent.name,
        "tool": data.context.tool_name,
        "arguments": data.context.tool_arguments,
        "call_id": data.context.tool_call_id,
    }


@tool_input_guardrail
async def eddy_before(data):
    """Checks a tool call before it is made."""
    verdict = await guard.check(told(data))
    message = verdict.get("message", "")
    if verdict["verdict"] == "ABORT":
        return ToolGuardrailFunctionOutput.raise_exception(output_info=verdict)
    if verdict["verdict"] == "SKIP":
        if earlier := verdict.get("previous_result"):
            message += f"\n\nThe earlier result:\n{earlier}"
        return ToolGuardrailFunctionOutput.reject_content(message, output_info=verdict)
    if verdict["verdict"] == "NUDGE":
        nudges[data.context.tool_call_id] = message
    return ToolGuardrailFunctionOutput.allow(output_info=verdict)


@tool_output_guardrail
async def eddy_after(data):
    """Reports the result of a call, and adds the nudge that waits for it."""
    await guard.report(told(data) | {"status": "success", "result": data.output})
    if nudge := nudges.pop(data.context.tool_call_id, None):
        return ToolGuardrailFunctionOutput.reject_content(f"{data.output}\n\n{nudge}")
    return ToolGuardrailFunctionOutput.allow()


class Stubborn(Model):
    """A model that asks the same thing again and again until a call of it is refused."""

    async def get_response(self, system_instructions, input, *_, **__):
        results = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        refused = results and not str(results[-1]["output"]).startswith("no forecast")
        if refused or len(results) == 30:
            text = ResponseOutputText(annotations=[], text="I cannot find the forecast.", type="output_text")
            said = ResponseOutputMessage(
                id="end", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            said = ResponseFunctionToolCall(
                arguments='{"city": "Bergen"}', call_id=f"call-{len(results)}", name="forecast", type="function_call"
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError("the example does not stream")


if __name__ == "__main__":
    set_tracing_disabled(True)
    made = 0

    @function_tool(tool_input_guardrails=[eddy_before], tool_output_guardrails=[eddy_after])
    def forecast(city: str) -> str:
        """The weather in a city."""
        global made
        made += 1
        return f"no forecast for {city}"

    agent = Agent(name="weather", model=Stubborn(), tools=[forecast])
    result = Runner.run_sync(agent, "How will the weather be?", max_turns=50)
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(f"  {item.output}")
    print(f"calls made: {made}")
