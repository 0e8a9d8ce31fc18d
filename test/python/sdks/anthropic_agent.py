"""The anthropic SDK: a tool loop, whole and sync, then streamed and async."""

import asyncio

from anthropic import Anthropic, AsyncAnthropic

TOOLS = [
    {
        'name': 'find_order',
        'description': 'Looks an order up.',
        'input_schema': {
            'type': 'object',
            'properties': {'number': {'type': 'integer'}},
            'required': ['number'],
        },
    }
]
ASK = {'model': 'claude-opus-4-8', 'max_tokens': 256, 'tools': TOOLS}


def results_of(message):
    """What the tools say to what the model asked for."""
    return [
        {
            'type': 'tool_result',
            'tool_use_id': block.id,
            'content': f'order {block.input["number"]} is shipped',
        }
        for block in message.content
        if block.type == 'tool_use'
    ]


def whole():
    client = Anthropic()
    messages = [{'role': 'user', 'content': 'Where is order 1182?'}]
    while True:
        message = client.messages.create(messages=messages, **ASK)
        results = results_of(message)
        if not results:
            return message.content[0].text
        print('tool', results)
        messages.append({'role': 'assistant', 'content': message.content})
        messages.append({'role': 'user', 'content': results})


async def streamed():
    client = AsyncAnthropic()
    messages = [{'role': 'user', 'content': 'Where is order 1183?'}]
    while True:
        async with client.messages.stream(messages=messages, **ASK) as stream:
            async for text in stream.text_stream:
                print('piece', repr(text))
            message = await stream.get_final_message()
        results = results_of(message)
        if not results:
            return message.content[0].text, message.usage.output_tokens
        messages.append({'role': 'assistant', 'content': message.content})
        messages.append({'role': 'user', 'content': results})


print('whole', whole())
print('streamed', asyncio.run(streamed()))
