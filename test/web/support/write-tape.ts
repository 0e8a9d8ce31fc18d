import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { encodeBody } from '@retake/tape'
import type { HeaderPair, NewEvent, FrameworkScope, RecordedError, RunDetails } from '@retake/tape'
import { TapeWriter } from '@retake/tape/node'

export interface TapeHead {
  readonly id: string
  readonly name?: string
  readonly details?: RunDetails
  /** The error that ended it. */
  readonly error?: RecordedError
}

/** Puts a finished run into the `.retake/runs` of a folder, event by event, as `write` says. */
export function writeTape(
  folder: string,
  { id, name = id, details = {}, error }: TapeHead,
  write: (tape: TapeScript) => void,
): string {
  const runs = join(folder, '.retake', 'runs')
  mkdirSync(runs, { recursive: true })
  const path = join(runs, `${id}.tape`)
  const clock = { now: 0 }
  const writer = TapeWriter.create(
    path,
    {
      type: 'run',
      id,
      name,
      startedAt: 1_790_000_000_000,
      scope: 'process',
      node: 'v20.20.2',
    },
    details,
    { now: () => clock.now },
  )
  write(new TapeScript(writer, clock))
  clock.now++
  writer.append(error ? { type: 'end', exitCode: 1, error } : { type: 'end', exitCode: 0 })
  writer.seal()
  return path
}

export interface Asked {
  readonly url?: string
  readonly headers?: readonly HeaderPair[]
  readonly site?: string
  readonly within?: readonly FrameworkScope[]
}

export interface Told {
  readonly status?: number
  readonly statusText?: string
  readonly headers?: readonly HeaderPair[]
  /** Milliseconds between two pieces. */
  readonly everyMs?: number
}

const CHAT = 'https://api.openai.com/v1/chat/completions'

/** What happens in a run, one millisecond after another. */
export class TapeScript {
  readonly #writer: TapeWriter
  readonly #clock: { now: number }

  constructor(writer: TapeWriter, clock: { now: number }) {
    this.#writer = writer
    this.#clock = clock
  }

  add(event: NewEvent, body: Uint8Array | string = ''): number {
    this.#clock.now++
    return this.#writer.append(event, typeof body === 'string' ? Buffer.from(body) : body)
  }

  wait(ms: number): void {
    this.#clock.now += ms
  }

  exchange(
    body: Uint8Array | string,
    pieces: readonly (Uint8Array | string)[],
    { asked = {}, told = {} }: { readonly asked?: Asked; readonly told?: Told } = {},
  ): void {
    const { url = CHAT, headers = [['content-type', 'application/json']], ...place } = asked
    const op = this.add(
      { type: 'request', seam: 'fetch', method: 'POST', url, headers, ...place },
      body,
    )
    this.add({
      type: 'response',
      op,
      status: told.status ?? 200,
      statusText: told.statusText ?? 'OK',
      headers: told.headers ?? [['content-type', 'application/json']],
    })
    for (const piece of pieces) {
      this.wait(told.everyMs ?? 0)
      this.add({ type: 'deliver', op, part: 'chunk' }, piece)
    }
    this.add({ type: 'deliver', op, part: 'end' })
  }

  /** A question to a model of OpenAI's, and its answer. */
  chat(
    messages: readonly unknown[],
    answer: unknown,
    asked: Asked & { readonly model?: string; readonly finish?: string } = {},
  ): void {
    const { model = 'gpt-4o-mini', finish = 'stop', ...rest } = asked
    const message = typeof answer === 'string' ? { role: 'assistant', content: answer } : answer
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
    const choices = [{ index: 0, message, finish_reason: finish }]
    this.exchange(
      JSON.stringify({ model, messages }),
      [JSON.stringify({ model, choices, usage })],
      { asked: rest },
    )
  }

  tool(
    name: string,
    args: unknown,
    outcome: { readonly result?: unknown; readonly error?: RecordedError },
    place: Pick<Asked, 'site' | 'within'> = {},
  ): void {
    const given = encodeBody(args)
    const op = this.add({ type: 'call', kind: 'tool', name, as: given.as, ...place }, given.body)
    if (outcome.error !== undefined) this.add({ type: 'result', op, error: outcome.error })
    else {
      const result = encodeBody(outcome.result)
      this.add({ type: 'result', op, as: result.as }, result.body)
    }
  }
}
