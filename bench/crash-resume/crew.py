"""CrewAI: a crew continues with the first task that is not done; this one has a single task."""
import json
import os
import urllib.request

services = os.environ["SERVICES"]
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true")

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool


@tool("refund")
def refund(order: int) -> str:
    """Refunds an order."""
    body = json.dumps({"order": order, "pid": os.getpid()}).encode()
    request = urllib.request.Request(f"{services}/refund", body, method="POST")
    return urllib.request.urlopen(request).read().decode()


llm = LLM(model="openai/gpt-example", base_url=f"{services}/v1", api_key="none")
agent = Agent(
    role="refunds", goal="Refund orders", backstory="-", tools=[refund], llm=llm, max_iter=50
)
task = Task(description="Refund orders 1 to 5.", expected_output="A confirmation", agent=agent)
Crew(agents=[agent], tasks=[task]).kickoff()
