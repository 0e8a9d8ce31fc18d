import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'
import { fork, openTape, readRun, record, replay } from 'retake'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { agentPath } from '../support/run-retake.mjs'

const run = promisify(execFile)
let folder: string
let provider: Provider
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
  folder = await mkdtemp(join(tmpdir(), 'retake-returned-'))
})
afterAll(async () => {
  await provider.close()
  await rm(folder, { recursive: true, force: true })
})

const options = () => ({ name: 'chat', dir: folder })
const stepsOf = (path: string) => readRun(openTape(path)).steps.map(({ kind }) => kind)

/** Two model-like requests, the second while the stream is read. */
const linesOf = async function* (count = 3) {
  for (let number = 0; number < count; number += 1) {
    const answer = await fetch(`${provider.url}/echo?line=${number}`)
    await answer.text()
    yield `${number} ${Math.random()}\n`
  }
}
const counting = function* () {
  yield 1
}
const webStream = () => ReadableStream.from(linesOf()).pipeThrough(new TextEncoderStream())

/** A web server whose handler answers with a `Response`, as Hono's and Next's adapters do. */
async function serve(handler: () => Promise<Response>): Promise<string> {
  const listener = async (_: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const response = await handler()
    answer.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body === null) return void answer.end()
    const reader = response.body.getReader()
    answer.on('close', () => void reader.cancel().catch(() => {}))
    for (let part = await reader.read(); !part.done; part = await reader.read())
      answer.write(part.value)
    answer.end()
  }
  const server = createServer(
    ((request, answer) =>
      void listener(request, answer).catch((error: unknown) =>
        answer.destroy(error as Error),
      )) satisfies RequestListener,
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describe('a run that returns a stream stays open until it has been read', () => {
  test('the Response of an AI SDK stream, served by a web server', async () => {
    const openai = createOpenAI({ baseURL: `${provider.url}/v1`, apiKey: 'none' })
    const agent = () =>
      streamText({ model: openai.chat('gpt-4o'), prompt: 'Hello' }).toUIMessageStreamResponse({
        headers: { 'x-run': 'yes' },
      })
    let sealed: Promise<void> | undefined
    let path = ''
    const url = await serve(async () => {
      const { output, run, done } = await record(options(), agent)
      expect(output).toBeInstanceOf(Response)
      expect([output.status, output.headers.get('x-run')]).toEqual([200, 'yes'])
      expect(openTape(run.path).status).not.toBe('sealed')
      sealed = done
      path = run.path
      return output
    })
    const text = await (await fetch(url)).text()
    await sealed
    expect(text).toContain('data: [DONE]')
    expect(openTape(path).status).toBe('sealed')
    expect(stepsOf(path)).toEqual(['model'])

    const before = provider.counts().requests
    const replayed = await replay(path, agent)
    expect(await replayed.output.text()).toBe(text)
    expect(replayed.divergences).toEqual([])
    expect(provider.counts().requests).toBe(before)
  })

  /** Replays read the same as the reader of the recording did. */
  async function readsAlike<T>(agent: () => T, read: (output: T) => Promise<string>) {
    const { output, run, done } = await record(options(), agent)
    expect((output as object).constructor === (agent() as object).constructor).toBe(true)
    const text = await read(output)
    await done
    expect(stepsOf(run.path).length).toBeGreaterThanOrEqual(3)
    const replayed = []
    for (let time = 0; time < 3; time += 1)
      replayed.push(await read((await replay(run.path, agent)).output))
    return replayed.every((again) => again === text)
  }
  const textOf = async (lines: AsyncIterable<string | Uint8Array>) => {
    let text = ''
    for await (const line of lines) text += String(line)
    return text
  }

  test('a ReadableStream', async () => {
    expect(await readsAlike(webStream, (stream) => new Response(stream).text())).toBe(true)
  })

  test('a byte stream', async () => {
    const agent = () => new Response(webStream()).body as ReadableStream
    expect(await readsAlike(agent, (stream) => new Response(stream).text())).toBe(true)
  })

  test('a Readable', async () => {
    expect(await readsAlike(() => Readable.from(linesOf()), textOf)).toBe(true)
  })

  test('an async generator', async () => {
    expect(await readsAlike(linesOf, textOf)).toBe(true)
  })

  test('streams in an object', async () => {
    const agent = () => ({ kind: 'pair', parts: [webStream(), linesOf(2)] as const })
    const isAlike = await readsAlike(
      agent,
      async ({ kind, parts: [stream, lines] }) =>
        `${kind} ${await new Response(stream).text()} ${await textOf(lines)}`,
    )
    expect(isAlike).toBe(true)
  })

  test('an object of a class with an async iterator is still that object', async () => {
    class Answer {
      readonly #id = 7;
      [Symbol.asyncIterator] = () => linesOf()
      id = () => this.#id
    }
    const agent = () => new Answer()
    const { output, run, done } = await record(options(), agent)
    expect(output).toBeInstanceOf(Answer)
    expect(output.id()).toBe(7)
    const lines = []
    for await (const line of output) lines.push(line)
    await done
    expect(lines).toHaveLength(3)
    const again = []
    for await (const line of (await replay(run.path, agent)).output) again.push(line)
    expect(again).toEqual(lines)
  })
})

test('a reader that stops early ends the run, and a replay stops at the same position', async () => {
  const agent = () => ReadableStream.from(linesOf(50))
  const { output, run, done } = await record(options(), agent)
  const reader = output.getReader()
  const first = [(await reader.read()).value, (await reader.read()).value]
  await reader.cancel('enough')
  await done
  expect(stepsOf(run.path)).toHaveLength(2)
  const again = []
  for await (const line of (await replay(run.path, agent)).output) again.push(line)
  expect(again).toEqual(first)
})

test('a stream that fails is the outcome of the run, for its reader and on the tape', async () => {
  const agent = () =>
    ReadableStream.from(
      (async function* () {
        yield* linesOf(1)
        throw new RangeError('no more lines')
      })(),
    )
  const { output, run, done } = await record(options(), agent)
  const reader = output.getReader()
  await reader.read()
  await expect(reader.read()).rejects.toThrow('no more lines')
  await done
  expect(readRun(openTape(run.path)).exit).toMatchObject({ error: { message: 'no more lines' } })
  await expect(replay(run.path, agent)).rejects.toThrow('no more lines')
})

test('a changed chunk is a divergence at that chunk', async () => {
  const { output, run, done } = await record(options(), () => ReadableStream.from(['a', 'b', 'c']))
  expect(await new Response(output.pipeThrough(new TextEncoderStream())).text()).toBe('abc')
  await done
  const changed = replay(run.path, () => ReadableStream.from(['a', 'B', 'c']))
  await expect(changed).rejects.toMatchObject({
    code: 'REPLAY_DIVERGED',
    divergence: { recorded: { type: 'write' } },
  })
})

test('a changed status is a divergence', async () => {
  const { output, run, done } = await record(options(), () => new Response('x', { status: 201 }))
  expect([output.status, await output.text()]).toEqual([201, 'x'])
  await done
  await expect(replay(run.path, () => new Response('x'))).rejects.toMatchObject({
    divergence: { kind: 'result' },
  })
})

test('readers run in their own async context, the source in that of the run', async () => {
  const agent = () => Readable.from(linesOf())
  const { output, run, done } = await record(options(), agent)
  output.on('data', () => void Math.random())
  await once(output, 'end')
  await done
  const draws = [...openTape(run.path).events()].filter(({ type }) => type === 'draw')
  expect(draws).toHaveLength(3)
})

test('two concurrent readers of two runs use separate tapes', async () => {
  const agent = () => new Response(webStream())
  const runs = await Promise.all([record(options(), agent), record(options(), agent)])
  const texts = await Promise.all(runs.map(({ output }) => output.text()))
  for (const [index, { run, done }] of runs.entries()) {
    await done
    expect(await (await replay(run.path, agent)).output.text()).toBe(texts[index])
  }
})

test('a fork reads the stream by itself', async () => {
  const agent = () => new Response(webStream())
  const { output, run, done } = await record(options(), agent)
  const recorded = (await output.text()).split('\n')
  await done
  const forked = await fork(run.path, agent, { at: '2', dir: folder } as never)
  const text = (await forked.output.text()).split('\n')
  expect(text).toHaveLength(recorded.length)
  expect(text[0]).toBe(recorded[0])
})

test('an unread stream does not keep the process alive, and ends its run when it is dropped', async () => {
  const program = agentPath('library/dropped-stream.mjs')
  const { stdout } = await run(process.execPath, ['--expose-gc', program, folder])
  expect(JSON.parse(stdout)).toEqual({ kept: 'truncated', dropped: 'sealed' })
})

test('a result that makes its streams later is named as not captured', async () => {
  const openai = createOpenAI({ baseURL: `${provider.url}/v1`, apiKey: 'none' })
  const model = openai.chat('gpt-4o')
  const late = await record(options(), () => streamText({ model, prompt: 'Hello' }))
  await late.output.consumeStream()
  const generator = await record(options(), counting)
  for (const { run } of [late, generator])
    expect(readRun(openTape(run.path)).notCaptured).toMatchObject([{ what: 'returned value' }])
})

test('a response without a body ends the run when it is returned', async () => {
  const { output, run } = await record(options(), () => new Response(null, { status: 204 }))
  expect(output.status).toBe(204)
  expect(openTape(run.path).status).toBe('sealed')
})
