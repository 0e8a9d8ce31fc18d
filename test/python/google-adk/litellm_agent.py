"""LiteLLM alone: one call for each provider that has a base of its own, whole and streamed."""

import asyncio

import litellm

ASK = {'messages': [{'role': 'user', 'content': 'Say hello.'}]}

for model in [
    'openai/gpt-4o',
    'anthropic/claude-opus-4-8',
    'gemini/gemini-2.5-flash',
    'groq/llama-3.3-70b-versatile',
    'mistral/mistral-large-latest',
]:
    answer = litellm.completion(model=model, **ASK)
    print(model, answer.choices[0].message.content, answer.usage.total_tokens)


async def streamed(model):
    stream = await litellm.acompletion(
        model=model, stream=True, stream_options={'include_usage': True}, **ASK
    )
    async for piece in stream:
        if piece.choices and piece.choices[0].delta.content:
            print('piece', repr(piece.choices[0].delta.content))


asyncio.run(streamed('openrouter/openai/gpt-4o'))
asyncio.run(streamed('gemini/gemini-2.5-flash'))
