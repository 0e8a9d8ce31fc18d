"""Google ADK: an agent with a tool, on Gemini and on other models through LiteLLM, whole and
streamed. It is asynchronous throughout."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types


def find_order(number: int) -> str:
    """Looks an order up."""
    return f'order {number} is shipped'


async def ask(agent, text, mode=StreamingMode.NONE):
    runner = InMemoryRunner(agent=agent, app_name='orders')
    session = await runner.session_service.create_session(app_name='orders', user_id='someone')
    message = types.Content(role='user', parts=[types.Part(text=text)])
    async for event in runner.run_async(
        user_id='someone',
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(streaming_mode=mode),
    ):
        for part in event.content.parts if event.content else []:
            # The framework draws ids for calls: only what was asked and told is printed.
            call, result = part.function_call, part.function_response
            told = part.text or (call and (call.name, call.args)) or (result and result.response)
            print(event.author, 'piece' if event.partial else 'whole', told)
    await runner.close()


def agent(model):
    return LlmAgent(name='helper', model=model, instruction='You help.', tools=[find_order])


async def main():
    await ask(agent('gemini-2.5-flash'), 'Where is order 1182?')
    await ask(agent('gemini-2.5-flash'), 'Where is order 1183?', StreamingMode.SSE)
    await ask(agent(LiteLlm('openai/gpt-4o')), 'Where is order 1184?')
    await ask(agent(LiteLlm('anthropic/claude-opus-4-8')), 'Where is order 1185?', StreamingMode.SSE)


asyncio.run(main())
