import { GoogleGenAI } from '@google/genai'
import type { GenerateContentResponse } from '@google/genai'
import type { ModelServer } from '@retake/engine/testing'
import { collect } from './model-client.js'
import type { Heard, ModelClient } from './model-client.js'

function geminiClient(name: string, provider: string, open: (server: ModelServer) => GoogleGenAI) {
  const model = 'gemini-2.5-flash'
  return {
    name,
    format: 'gemini',
    provider,
    ask: async (server: ModelServer, prompt: string) =>
      heardContent([await open(server).models.generateContent({ model, contents: prompt })]),
    stream: async (server: ModelServer, prompt: string) => {
      const chunks = await collect(
        await open(server).models.generateContentStream({ model, contents: prompt }),
      )
      return heardContent(chunks)
    },
  }
}

function heardContent(chunks: readonly GenerateContentResponse[]): Heard {
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  const texts = parts.filter(({ text, thought }) => text !== undefined && thought !== true)
  const usage = chunks.at(-1)?.usageMetadata
  return {
    text: texts.map(({ text }) => text).join(''),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined
        ? []
        : [{ name: functionCall.name ?? '', args: functionCall.args }],
    ),
    input: usage?.promptTokenCount,
    output: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
    pieces: texts.length,
  }
}

/** At AI Studio and at Vertex. */
export const geminiClients: readonly ModelClient[] = [
  geminiClient(
    '@google/genai',
    'gemini',
    ({ env }) =>
      new GoogleGenAI({
        apiKey: env['GEMINI_API_KEY']!,
        httpOptions: { baseUrl: env['GOOGLE_GEMINI_BASE_URL']! },
      }),
  ),
  geminiClient(
    '@google/genai at Vertex',
    'vertex',
    ({ env }) =>
      new GoogleGenAI({
        vertexai: true,
        apiKey: 'made-up',
        httpOptions: { baseUrl: env['GOOGLE_VERTEX_BASE_URL']! },
      }),
  ),
]
