"""LangChain: an agent with a tool, invoked and streamed, sync and async."""

import asyncio

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def find_order(number: int) -> str:
    """Looks an order up."""
    return f'order {number} is shipped'


def agent(**options):
    return create_agent(ChatOpenAI(model='gpt-4o', **options), [find_order])


def question(number):
    return {'messages': [{'role': 'user', 'content': f'Where is order {number}?'}]}


async def asynchronous():
    pieces = agent(stream_usage=True).astream(question(1183), stream_mode='messages')
    async for piece, _ in pieces:
        if piece.type == 'AIMessageChunk' and piece.content:
            print('piece', repr(piece.content))
    return (await ChatOpenAI(model='gpt-4o').ainvoke('Say hello.')).content


for message in agent().invoke(question(1182))['messages']:
    print(message.type, message.content, getattr(message, 'tool_calls', ''))
print('async', asyncio.run(asynchronous()))
