"""AutoGen: an assistant with a tool, whole, then streamed in a team. It is asynchronous throughout."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient


async def find_order(number: int) -> str:
    """Looks an order up."""
    return f'order {number} is shipped'


def assistant(name, client, **options):
    return AssistantAgent(
        name, client, tools=[find_order], system_message='You help.', reflect_on_tool_use=True, **options
    )


async def main():
    client = OpenAIChatCompletionClient(model='gpt-4o')
    result = await assistant('helper', client).run(task='Where is order 1182?')
    for message in result.messages:
        print(type(message).__name__, message.source, message.content)
    team = RoundRobinGroupChat(
        [assistant('first', client, model_client_stream=True), assistant('second', client)],
        termination_condition=MaxMessageTermination(3),
    )
    async for event in team.run_stream(task='Say hello.'):
        if type(event).__name__ == 'ModelClientStreamingChunkEvent':
            print('piece', repr(event.content))
        elif type(event).__name__ == 'TextMessage':
            print(event.source, event.content)
    await client.close()


asyncio.run(main())
