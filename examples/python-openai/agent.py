"""A support agent with one tool, on the openai package, streamed."""

import json
import sys

from openai import OpenAI

TOOLS = [
    {
        'type': 'function',
        'function': {
            'name': 'lookup_order',
            'description': 'Looks up an order by its id.',
            'parameters': {
                'type': 'object',
                'properties': {'id': {'type': 'string'}},
                'required': ['id'],
            },
        },
    }
]


def lookup_order(id):
    return {'id': id, 'state': 'shipped', 'carrier': 'Nordpost'}


def main(question):
    client = OpenAI()
    messages = [{'role': 'user', 'content': question}]
    while True:
        with client.chat.completions.stream(
            model='gpt-4o', messages=messages, tools=TOOLS, stream_options={'include_usage': True}
        ) as stream:
            for event in stream:
                if event.type == 'content.delta':
                    print(event.delta, end='')
            message = stream.get_final_completion().choices[0].message
        if not message.tool_calls:
            return print()
        messages.append({'role': 'assistant', 'tool_calls': [
            {'id': call.id, 'type': 'function', 'function': {
                'name': call.function.name, 'arguments': call.function.arguments}}
            for call in message.tool_calls
        ]})
        for call in message.tool_calls:
            result = lookup_order(**json.loads(call.function.arguments))
            messages.append({'role': 'tool', 'tool_call_id': call.id, 'content': json.dumps(result)})


main(sys.argv[1] if len(sys.argv) > 1 else 'Where is order 1182?')
