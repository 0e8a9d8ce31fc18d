"""The google-genai SDK: tools called by the SDK itself, sync and async, and streams."""

import asyncio

from google import genai
from google.genai import types


def find_order(number: int) -> str:
    """Looks an order up."""
    print('tool find_order', number)
    return f'order {number} is shipped'


MODEL = 'gemini-2.5-flash'
CONFIG = types.GenerateContentConfig(tools=[find_order])


def whole(client):
    answer = client.models.generate_content(
        model=MODEL, contents='Where is order 1182?', config=CONFIG
    )
    return answer.text, answer.usage_metadata.total_token_count


def streamed(client):
    for piece in client.models.generate_content_stream(model=MODEL, contents='Say hello.'):
        print('piece', repr(piece.text))


async def asynchronous(client):
    stream = await client.aio.models.generate_content_stream(
        model=MODEL, contents='Where is order 1183?', config=CONFIG
    )
    async for piece in stream:
        if piece.text:
            print('piece', repr(piece.text))
    answer = await client.aio.models.generate_content(model=MODEL, contents='Say goodbye.')
    return answer.text


client = genai.Client()
print('whole', whole(client))
streamed(client)
print('async', asyncio.run(asynchronous(client)))
