/**
 * @typedef {object} Expected What one step of an agent is answered, and how it shows on the tape.
 * @property {import('@retake/engine/testing').ScriptedAnswer} answer
 * @property {string} provider
 * @property {string} model As asked for.
 * @property {boolean} [hidesUsage] The framework does not ask for the tokens of a stream.
 */

/**
 * @typedef {object} PythonCase
 * @property {string} name
 * @property {string} environment Folder in test/python, and virtual environment.
 * @property {string} agent File in that folder.
 * @property {readonly Expected[]} steps
 * @property {readonly string[]} [matchers]
 */

const asks =
  (provider, model) =>
  /** The model says this, and it costs so many tokens. */
  (number, answer) => ({
    provider,
    model,
    answer: { ...answer, usage: { input: 100 + number, output: 10 + number } },
  })

/** The model wants a tool, then says where the order is. */
const lookUp = (ask, from, order) => [
  ask(from, { toolCalls: [{ name: 'find_order', args: { number: order } }] }),
  ask(from + 1, { text: `Order ${order} is on its way: “arrives déjà on Monday”.` }),
]

const openai = asks('openai', 'gpt-4o')
const claude = asks('anthropic', 'claude-opus-4-8')
const gemini = asks('google', 'gemini-2.5-flash')

/** @type {readonly PythonCase[]} */
export const cases = [
  {
    name: 'openai',
    environment: 'sdks',
    agent: 'openai_agent.py',
    steps: [
      ...lookUp(openai, 1, 1182),
      ...lookUp(openai, 3, 1183),
      openai(5, { text: 'Hello.' }),
      openai(6, { text: 'Hello once more.' }),
    ],
  },
  {
    name: 'anthropic',
    environment: 'sdks',
    agent: 'anthropic_agent.py',
    steps: [...lookUp(claude, 1, 1182), ...lookUp(claude, 3, 1183)],
  },
  {
    name: 'google-genai',
    environment: 'sdks',
    agent: 'google_genai_agent.py',
    steps: [
      ...lookUp(gemini, 1, 1182),
      gemini(3, { text: 'Hello, who is there?' }),
      ...lookUp(gemini, 4, 1183),
      gemini(6, { text: 'Goodbye.' }),
    ],
  },
  {
    name: 'langchain',
    environment: 'sdks',
    agent: 'langchain_agent.py',
    steps: [...lookUp(openai, 1, 1182), ...lookUp(openai, 3, 1183), openai(5, { text: 'Hello.' })],
  },
  {
    name: 'autogen',
    environment: 'sdks',
    agent: 'autogen_agent.py',
    steps: [
      ...lookUp(openai, 1, 1182),
      { ...openai(3, { text: 'Hello from the first.' }), hidesUsage: true },
      openai(4, { text: 'Hello from the second.' }),
    ],
  },
  {
    name: 'crewai',
    environment: 'crewai',
    agent: 'crewai_agent.py',
    steps: [...lookUp(openai, 1, 1182), ...lookUp(openai, 3, 1183), ...lookUp(openai, 5, 1184)],
  },
  {
    name: 'google-adk',
    environment: 'google-adk',
    agent: 'google_adk_agent.py',
    steps: [
      ...lookUp(gemini, 1, 1182),
      ...lookUp(gemini, 3, 1183),
      ...lookUp(openai, 5, 1184),
      ...lookUp(claude, 7, 1185),
    ],
  },
]

/** Frameworks report home or fetch lists unless they are told not to. Made known in docs/proxy.md. */
export const QUIET = {
  CREWAI_DISABLE_TELEMETRY: 'true',
  CREWAI_TRACING_ENABLED: 'false',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  LANGSMITH_TRACING: 'false',
  OTEL_SDK_DISABLED: 'true',
}
