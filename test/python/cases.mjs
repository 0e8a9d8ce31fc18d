import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

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
 * @property {number} [replays] How often it is replayed; five times unless said.
 * @property {(url: string) => Record<string, string>} [variables] Set besides the keys, with the address of the model server.
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

const example = new URL('../../examples/python-openai/', import.meta.url)

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
    name: 'openai with asyncio.gather',
    environment: 'sdks',
    agent: 'openai_gather_agent.py',
    replays: 20,
    steps: Array.from({ length: 41 }, (_, number) =>
      openai(0, { text: `Answer ${number} has five words.`, delayMs: (number * 13) % 29 }),
    ),
  },
  {
    name: 'python-openai',
    environment: 'sdks',
    agent: fileURLToPath(new URL('agent.py', example)),
    steps: JSON.parse(await readFile(new URL('model.json', example), 'utf8')).map(
      ({ usage, ...answer }, index) => ({
        provider: 'openai',
        model: 'gpt-4o',
        answer: { ...answer, usage: usage ?? { input: 100 + index, output: 10 } },
      }),
    ),
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
    // LangChain prefers OPENAI_API_BASE, which is not set here and must not lead elsewhere.
    name: 'langchain with OPENAI_BASE_URL alone',
    environment: 'sdks',
    agent: 'langchain_agent.py',
    variables: (url) => ({ OPENAI_BASE_URL: `${url}/v1` }),
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
  {
    name: 'litellm',
    environment: 'google-adk',
    agent: 'litellm_agent.py',
    // Read by LiteLLM alone, or with another path than by others: redirected where they are set.
    variables: (url) => ({
      GEMINI_API_BASE: `${url}/gemini/v1beta`,
      GROQ_API_BASE: `${url}/groq/openai/v1`,
      MISTRAL_AZURE_API_BASE: `${url}/mistral/v1`,
      OPENROUTER_API_BASE: `${url}/openrouter/api/v1`,
    }),
    steps: [
      openai(1, { text: 'Hello from OpenAI.' }),
      claude(2, { text: 'Hello from Anthropic.' }),
      gemini(3, { text: 'Hello from Gemini.' }),
      // On the loopback nothing tells who speaks the protocol of OpenAI.
      asks('openai', 'llama-3.3-70b-versatile')(4, { text: 'Hello from Groq.' }),
      asks('openai', 'mistral-large-latest')(5, { text: 'Hello from Mistral.' }),
      asks('openai', 'openai/gpt-4o')(6, { text: 'Hello from OpenRouter.' }),
      gemini(7, { text: 'Hello again from Gemini.' }),
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
