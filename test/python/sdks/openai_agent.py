"""The openai SDK: chat completions and responses, whole and streamed, sync and async."""

import asyncio
import json

from openai import AsyncOpenAI, OpenAI

TOOLS = [
    {
        'type': 'function',
        'function': {
            'name': 'find_order',
            'description': 'Looks an order up.',
            'parameters': {
                'type': 'object',
                'properties': {'number': {'type': 'integer'}},
                'required': ['number'],
            },
        },
    }
]


def find_order(number):
    return {'number': number, 'state': 'shipped'}


def chat():
    """A tool loop, the answers whole."""
    messages = [{'role': 'user', 'content': 'Where is order 1182?'}]
    while True:
        answer = OpenAI().chat.completions.create(model='gpt-4o', messages=messages, tools=TOOLS)
        message = answer.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            print('tool', call.function.name, call.function.arguments)
            result = find_order(**json.loads(call.function.arguments))
            messages.append(
                {'role': 'tool', 'tool_call_id': call.id, 'content': json.dumps(result)}
            )


async def chat_streamed():
    """The same loop with streams, asynchronously."""
    client = AsyncOpenAI()
    messages = [{'role': 'user', 'content': 'Where is order 1183?'}]
    while True:
        async with client.chat.completions.stream(
            model='gpt-4o', messages=messages, tools=TOOLS, stream_options={'include_usage': True}
        ) as stream:
            async for event in stream:
                if event.type == 'content.delta':
                    print('piece', repr(event.delta))
            message = (await stream.get_final_completion()).choices[0].message
        messages.append(message.model_dump(exclude_none=True, include={'role', 'content', 'tool_calls'}))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = find_order(**json.loads(call.function.arguments))
            messages.append(
                {'role': 'tool', 'tool_call_id': call.id, 'content': json.dumps(result)}
            )


def responses():
    client = OpenAI()
    whole = client.responses.create(model='gpt-4o', input='Say hello.')
    print('response', whole.output_text, whole.usage.total_tokens)
    with client.responses.stream(model='gpt-4o', input='Say it again.') as stream:
        for event in stream:
            if event.type == 'response.output_text.delta':
                print('piece', repr(event.delta))
        return stream.get_final_response().output_text


print('whole', chat())
print('streamed', asyncio.run(chat_streamed()))
print('responses', responses())
