import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { encodeBody } from '@retake/tape'
import type { NewEvent, FrameworkScope, RunDetails } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { onTestFinished } from 'vitest'
import { RunModel, type ModelOptions } from '../src/model/run-model.js'

export const CHAT = 'https://api.openai.com/v1/chat/completions'

export interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly unknown[]
  readonly tool_call_id?: string
}

/** Writes a real tape, event by event, for tests of what the viewer shows of one. */
export class RunScript {
  readonly path: string
  readonly #writer: TapeWriter
  #now = 0

  constructor(details: RunDetails = {}) {
    const folder = mkdtempSync(path.join(tmpdir(), 'retake-web-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    this.path = path.join(folder, 'run.tape')
    this.#writer = TapeWriter.create(
      this.path,
      {
        type: 'run',
        id: 'run-1',
        name: 'refund',
        startedAt: 1_790_000_000_000,
        scope: 'process',
        node: 'v20.20.2',
      },
      details,
      { now: () => this.#now },
    )
  }

  /** Appends an event one millisecond after the last; gives its number. */
  add(event: NewEvent, body: Uint8Array | string = ''): number {
    this.#now++
    return this.#writer.append(event, typeof body === 'string' ? Buffer.from(body) : body)
  }

  wait(ms: number): this {
    this.#now += ms
    return this
  }

  request(
    url: string,
    body: string | Uint8Array | object = '',
    more: {
      readonly within?: readonly FrameworkScope[]
      readonly site?: string
      method?: string
    } = {},
  ): number {
    const { method = 'POST', ...rest } = more
    const bytes =
      typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
    return this.add(
      { type: 'request', seam: 'fetch', method, url, headers: [['accept', '*/*']], ...rest },
      bytes,
    )
  }

  answer(
    op: number,
    pieces: readonly (string | Uint8Array)[],
    { status = 200, type = 'application/json' } = {},
  ): void {
    this.add({
      type: 'response',
      op,
      status,
      statusText: status === 200 ? 'OK' : 'Trouble',
      headers: [['content-type', type]],
    })
    for (const piece of pieces) this.add({ type: 'deliver', op, part: 'chunk' }, piece)
    this.add({ type: 'deliver', op, part: 'end' })
  }

  /** A question to a model and its answer: text, or a message with tool calls. */
  chat(
    messages: readonly ChatMessage[],
    answer: string | ChatMessage,
    more: { readonly within?: readonly FrameworkScope[]; readonly tools?: readonly unknown[] } = {},
  ): void {
    const { within, tools } = more
    const body = { model: 'gpt-4o-mini', messages, ...(tools && { tools }) }
    const op = this.request(CHAT, body, within ? { within } : {})
    const message = typeof answer === 'string' ? { role: 'assistant', content: answer } : answer
    const choice = { index: 0, message, finish_reason: 'stop' }
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
    this.answer(op, [JSON.stringify({ model: 'gpt-4o-mini', choices: [choice], usage })])
  }

  tool(name: string, args: unknown, result: unknown): void {
    const asked = encodeBody(args)
    const op = this.add({ type: 'call', kind: 'tool', name, as: asked.as }, asked.body)
    const told = encodeBody(result)
    this.add({ type: 'result', op, as: told.as }, told.body)
  }

  file(name: string, title: string, result: { bytes?: Uint8Array; code?: string } = {}): number {
    const { bytes, code } = result
    const op = this.add({ type: 'call', kind: 'file', name, title })
    if (code !== undefined)
      this.add({
        type: 'result',
        op,
        error: { class: 'Error', name: 'Error', message: 'no', code },
      })
    else this.add({ type: 'result', op, as: 'bytes' }, bytes)
    return op
  }

  output(bytes: Uint8Array | string, stream: 'stdout' | 'stderr' = 'stdout'): void {
    this.add({ type: 'output', stream }, bytes)
  }

  /** Ends and seals the tape, and opens it. */
  model(options: Partial<ModelOptions> = {}): RunModel {
    this.add({ type: 'end', exitCode: 0 })
    this.#writer.seal()
    return new RunModel(openTape(this.path), { status: 'done', ...options })
  }

  /** Leaves the tape as a kill leaves it, and opens it. */
  killed(options: Partial<ModelOptions> = {}): RunModel {
    this.#writer.close()
    return new RunModel(openTape(this.path), { status: 'killed', ...options })
  }
}

/** One event of a chat stream. */
export const delta = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
