"""CrewAI: a crew with a tool, whole and streamed, sync and async."""

import asyncio

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool


@tool('find_order')
def find_order(number: int) -> str:
    """Looks an order up."""
    return f'order {number} is shipped'


def crew(number, model='openai/gpt-4o', **options):
    helper = Agent(
        role='helper',
        goal='Help with orders',
        backstory='You know every order.',
        tools=[find_order],
        llm=LLM(model=model, **options),
    )
    task = Task(
        description=f'Where is order {number}?', expected_output='One sentence.', agent=helper
    )
    return Crew(agents=[helper], tasks=[task])


result = crew(1182).kickoff()
print('whole', result.raw, result.token_usage.total_tokens)
print('streamed', crew(1183, stream=True).kickoff().raw)
print('async', asyncio.run(crew(1184).kickoff_async()).raw)
