import type { ModelServer } from '@retake/engine/testing'

/** What a client made of an answer. `input` is all input, cached tokens included. */
export interface Heard {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly args: unknown }[]
  readonly input: number | undefined
  readonly output: number | undefined
  /** Pieces of text that arrived one by one. */
  readonly pieces?: number
}

/** A real SDK, asked in one way for all. */
export interface ModelClient {
  readonly name: string
  readonly format: string
  readonly provider: string
  readonly ask: (server: ModelServer, prompt: string) => Promise<Heard>
  readonly stream: (server: ModelServer, prompt: string) => Promise<Heard>
}

/** A prompt as most SDKs take it. */
export const say = (content: string) => [{ role: 'user' as const, content }]

export const parse = (text: string): unknown => JSON.parse(text)

export const retries = { maxRetries: 0 }

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
