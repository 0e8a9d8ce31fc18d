"""The openai SDK: concurrent requests, different and identical, whole and streamed.

Everything is printed in the order in which it happens."""

import asyncio

from openai import AsyncOpenAI


async def whole(client, number, text):
    answer = await client.chat.completions.create(
        model='gpt-4o', messages=[{'role': 'user', 'content': text}]
    )
    print('whole', number, answer.choices[0].message.content)
    return answer.choices[0].message.content


async def streamed(client, number, text):
    pieces = await client.chat.completions.create(
        model='gpt-4o',
        messages=[{'role': 'user', 'content': text}],
        stream=True,
        stream_options={'include_usage': True},
    )
    said = ''
    async for piece in pieces:
        if piece.choices and piece.choices[0].delta.content:
            said += piece.choices[0].delta.content
            print('piece', number, repr(piece.choices[0].delta.content))
    return said


async def main():
    client = AsyncOpenAI()
    # The first request looks the platform up in a thread, which ends in its own time.
    print(await whole(client, 0, 'Hello.'))
    for ask in (whole, streamed):
        print(await asyncio.gather(*[ask(client, n, f'Question {n}.') for n in range(10)]))
        print(await asyncio.gather(*[ask(client, n, 'The same question.') for n in range(10)]))


asyncio.run(main())
