import asyncio

from openai import AsyncOpenAI

client = AsyncOpenAI()


async def ask(question):
    answer = await client.chat.completions.create(
        model="gpt-example", messages=[{"role": "user", "content": question}]
    )
    print(question, answer.choices[0].message.content)


async def main():
    await asyncio.gather(*(ask(f"question {n % 4}") for n in range(12)))


asyncio.run(main())
