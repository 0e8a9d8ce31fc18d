import {
  chatTurns,
  claudeTurns,
  findOrder,
  geminiTurns,
  mistralTurns,
  ollamaTurns,
  responsesTurns,
  told,
} from './turns.js'

/** An unmodified agent of one SDK, and what a person should see of its run. */
export interface Scene {
  readonly title: string
  /** A file of the agents' folder. */
  readonly agent: string
  readonly args?: readonly string[]
  /** The MCP server it talks to over HTTP, a file of the same folder. */
  readonly mcpServer?: string
  /** Its steps, as `stepLine` writes them; left out where another suite checks them. */
  readonly steps?: readonly (string | readonly string[])[]
}

// $0.15 for a million tokens in, $0.075 cached, $0.60 out.
const mini = chatTurns('openai gpt-4o-mini', { order: 33, found: 55.5, said: 4.5 })
const azureMini = chatTurns('azure gpt-4o-mini', { order: 33, found: 55.5, said: 4.5 })
// $0.25, $0.025 cached, $2.
const gpt5 = responsesTurns('openai gpt-5-mini', { order: 71, found: 112.5, said: 12.5 })
// $0.30, $0.03 cached, $2.50.
const flash = geminiTurns('google gemini-2.5-flash', { order: 87.2, found: 138, said: 15.5 })
// $2, $0.20 cached, $2.50 written, $10.
const sonnet = claudeTurns('anthropic claude-sonnet-5', { order: 448, found: 845, said: 70 })
// $3, $0.30 cached, $3.75 written, $15; a tenth more for a part of the world.
const bedrockSonnet = claudeTurns('bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0', {
  order: 739.2,
  found: 1394.25,
  said: 115.5,
})
// The same without the tenth.
const olderSonnet = claudeTurns('bedrock anthropic.claude-3-5-sonnet-20240620-v1:0', {
  order: 672,
  found: '?',
  said: 105,
})
// Models without a list price: their cost is unknown.
const llama = chatTurns('openai llama-3.3-70b-versatile')
const mistral = mistralTurns('openai mistral-small-2506')
const local = ollamaTurns('ollama llama3.2')

const converseSteps = [
  bedrockSonnet.order,
  findOrder,
  bedrockSonnet.found,
  bedrockSonnet.said,
  bedrockSonnet.order,
]
const invokeSteps = [
  olderSonnet.order,
  olderSonnet.said,
  olderSonnet.order,
  olderSonnet.said,
  olderSonnet.said,
]
const handoffSteps = [
  gpt5.order.replace('find_order {"id":"1182"}', 'transfer_to_Orders {}'),
  'tool: transfer_to_Orders({})',
  gpt5.order,
  findOrder,
  gpt5.found,
]

/** Whole, then streamed. */
const twice = (step: string): string[] => [step, step]

export const scenes: readonly Scene[] = [
  {
    title: 'openai, chat completions',
    agent: 'openai-chat.mjs',
    steps: [
      [mini.order, findOrder, mini.found, mini.said, mini.order],
      [mini.busy, mini.said],
      [mini.said, mini.said, mini.said],
      'openai gpt-4o-mini: aborted',
    ],
  },
  {
    title: 'openai, responses',
    agent: 'openai-responses.mjs',
    steps: [gpt5.order, findOrder, gpt5.found, gpt5.said, gpt5.order, gpt5.busy, gpt5.said],
  },
  {
    title: 'openai at Azure',
    agent: 'azure.mjs',
    steps: [
      [azureMini.order, findOrder, azureMini.found, azureMini.said],
      [azureMini.busy, azureMini.said],
    ],
  },
  {
    title: 'openai at a compatible server',
    agent: 'openai-compatible.mjs',
    steps: [
      'openai Qwen/Qwen3-8B: stop, 10 in 5 out, ? µ$',
      // Nobody asked for the usage of this stream.
      'openai Qwen/Qwen3-8B: stop',
      'openai nomic-embed-text: embedded, 6 in, ? µ$',
    ],
  },
  {
    title: '@anthropic-ai/sdk',
    agent: 'anthropic.mjs',
    steps: [
      [sonnet.order, findOrder, sonnet.found, sonnet.said, sonnet.order],
      [sonnet.busy, sonnet.said],
      [sonnet.said, sonnet.said],
    ],
  },
  {
    title: '@google/genai',
    agent: 'google-genai.mjs',
    steps: [
      [flash.order, findOrder, flash.found, flash.said, flash.order],
      'google gemini-2.5-flash: failed (400 Bad Request: That is no question)',
      [flash.said, flash.said],
    ],
  },
  {
    title: 'groq-sdk',
    agent: 'groq.mjs',
    steps: [llama.order, findOrder, llama.found, llama.said, llama.busy, llama.said],
  },
  {
    title: '@mistralai/mistralai',
    agent: 'mistral.mjs',
    steps: [
      [mistral.order, findOrder, mistral.found, mistral.said, mistral.order],
      [mistral.busy, mistral.said],
    ],
  },
  {
    title: 'ollama',
    agent: 'ollama.mjs',
    steps: [
      [local.order, findOrder, local.found, local.said, local.said],
      'ollama llama3.2: failed (400 Bad Request: That is no question)',
    ],
  },
  {
    title: 'Bedrock Converse over HTTP/2',
    agent: 'bedrock-converse.mjs',
    steps: [
      ...converseSteps,
      // HTTP/2 has no words for a status.
      told(bedrockSonnet.busy, 'Too many requests').replace(' Too Many Requests', ''),
      bedrockSonnet.said,
    ],
  },
  {
    title: 'Bedrock Converse over HTTP/1',
    agent: 'bedrock-converse.mjs',
    args: ['http1'],
    steps: [...converseSteps, bedrockSonnet.busy, bedrockSonnet.said],
  },
  {
    title: 'Bedrock InvokeModel over HTTP/2',
    agent: 'bedrock-invoke.mjs',
    steps: invokeSteps,
  },
  {
    title: 'Bedrock InvokeModel over HTTP/1',
    agent: 'bedrock-invoke.mjs',
    args: ['http1'],
    steps: invokeSteps,
  },
  {
    title: 'Bedrock InvokeModel of other families',
    agent: 'bedrock-families.mjs',
    steps: [
      // $0.06 for a million tokens in, $0.24 out; $0.22 both; unknown; $0.50, $1.50; $0.07, $0.30.
      twice('bedrock amazon.nova-lite-v1:0: end_turn, 10 in 5 out, 1.8 µ$'),
      twice('bedrock meta.llama3-1-8b-instruct-v1:0: stop, 10 in 5 out, 3.3 µ$'),
      twice('bedrock mistral.mistral-large-2402-v1:0: stop, 10 in 5 out, ? µ$'),
      twice('bedrock cohere.command-r-v1:0: COMPLETE, 10 in 5 out, 12.5 µ$'),
      twice('bedrock openai.gpt-oss-20b-1:0: stop, 10 in 5 out, 2.2 µ$'),
      'bedrock amazon.titan-embed-text-v2:0: embedded, 3 in, 0.06 µ$',
    ],
  },
  {
    title: 'ai with @ai-sdk/openai',
    agent: 'ai-sdk.mjs',
    steps: [
      [gpt5.order, findOrder, gpt5.found],
      [mini.order, findOrder, mini.found],
      [mini.busy, mini.said],
      [mini.said, mini.said],
    ],
  },
  {
    title: 'langchain with @langchain/openai',
    agent: 'langchain.mjs',
    steps: [
      [mini.order, findOrder, mini.found],
      [mini.order, findOrder, mini.found],
      [mini.busy, mini.said],
      [mini.said, mini.said],
    ],
  },
  {
    title: '@langchain/langgraph',
    agent: 'langgraph.mjs',
    steps: [
      // $0.40 for a million tokens in, $1.60 out.
      'openai gpt-4.1-mini: stop, 15 in 6 out, 15.6 µ$',
      'openai gpt-4.1-mini: stop, 10 in 5 out, 12 µ$',
      'openai gpt-4.1-mini: stop, 10 in 5 out, 12 µ$',
      'openai gpt-4.1-mini: stop, 10 in 5 out, 12 µ$',
    ],
  },
  {
    title: '@openai/agents',
    agent: 'openai-agents.mjs',
    steps: [...handoffSteps, gpt5.order, findOrder, gpt5.found],
  },
  {
    title: '@openai/agents with tracing',
    agent: 'openai-agents.mjs',
    args: ['traced'],
    steps: [
      ...handoffSteps,
      [gpt5.order, findOrder, gpt5.found],
      'http: POST /v1/traces/ingest 404',
    ],
  },
  {
    title: '@google/adk',
    agent: 'google-adk.mjs',
    steps: [flash.order, findOrder, flash.found, flash.order, findOrder, flash.found],
  },
  { title: '@modelcontextprotocol/sdk over stdio', agent: 'mcp.mjs' },
  {
    title: '@modelcontextprotocol/sdk over HTTP',
    agent: 'mcp.mjs',
    mcpServer: 'mcp-http-server.mjs',
  },
  { title: '@modelcontextprotocol/client over stdio', agent: 'mcp-2.mjs' },
  {
    title: '@modelcontextprotocol/client over HTTP',
    agent: 'mcp-2.mjs',
    mcpServer: 'mcp-http-server.mjs',
  },
]

/** What needs Node 22. */
export const newestScenes: readonly Scene[] = [
  { title: 'undici', agent: 'undici.mjs', steps: [twice(mini.said), twice(mini.said)] },
  {
    title: '@mastra/core',
    agent: 'mastra.mjs',
    steps: [mini.order, findOrder, mini.found, mini.order, findOrder, mini.found, mini.said],
  },
  {
    title: "ai's agent class",
    agent: 'ai-7.mjs',
    steps: [
      [gpt5.order, findOrder, gpt5.found],
      [gpt5.order, findOrder, gpt5.found],
      'openai gpt-4o-mini: stop, 12 in 7 out, 6 µ$',
    ],
  },
]
