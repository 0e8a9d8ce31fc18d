import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'
import { openTape, record, replay } from 'retake'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'

let folder: string
let provider: Provider
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
  folder = await mkdtemp(join(tmpdir(), 'retake-signals-'))
})
afterAll(async () => {
  await provider.close()
  await rm(folder, { recursive: true, force: true })
})

const options = () => ({ name: 'chat', dir: folder })
/** Made outside of any run, like the signal of a request. */
const never = new AbortController().signal

/** Records with a signal that aborts once the run waits for an answer that never comes; replays with others. */
async function abortedAndReplayed<T>(agent: (signal: AbortSignal) => Promise<T>, reason?: unknown) {
  const outside = new AbortController()
  const before = provider.counts().requests
  const recorded = record(options(), () => agent(outside.signal))
  while (provider.counts().requests === before) await new Promise((turn) => setTimeout(turn, 2))
  outside.abort(reason)
  const { output, run } = await recorded
  const replays = []
  for (const signal of [never, outside.signal, never])
    replays.push((await replay(run.path, () => agent(signal))).output)
  return { output, replays, run }
}

test('a fetch that is aborted by a signal from outside the run', async () => {
  const { output, replays } = await abortedAndReplayed(async (signal) => {
    try {
      await fetch(`${provider.url}/hang`, { signal })
      return ['answered']
    } catch (error) {
      return [(error as Error).name, signal.aborted, (signal.reason as Error).name, Date.now()]
    }
  })
  expect(output.slice(0, 3)).toEqual(['AbortError', true, 'AbortError'])
  expect(replays).toEqual([output, output, output])
})

test('a listener, a merged signal and a check of the signal see the abort in the same turn', async () => {
  const { output, replays } = await abortedAndReplayed(async (signal) => {
    const seen: unknown[] = [signal.aborted]
    signal.addEventListener('abort', () => seen.push(['heard', signal.aborted, Math.random()]))
    const own = new AbortController()
    const merged = AbortSignal.any([signal, own.signal])
    merged.addEventListener('abort', () => seen.push('merged', merged.reason))
    try {
      await fetch(`${provider.url}/hang`, { signal: merged })
    } catch (error) {
      seen.push(error)
    }
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((next) => setTimeout(next, 1))
      seen.push(signal.aborted, own.signal.aborted)
    }
    try {
      signal.throwIfAborted()
    } catch (error) {
      seen.push(error)
    }
    return seen
  }, 'client left')
  expect(output).toEqual(expect.arrayContaining(['merged', 'client left']) as unknown[])
  expect(replays).toEqual([output, output, output])
})

test('the abortSignal of an AI SDK stream', async () => {
  const openai = createOpenAI({ baseURL: `${provider.url}/hang`, apiKey: 'none' })
  const { output, replays, run } = await abortedAndReplayed(async (abortSignal) => {
    const parts = []
    const result = streamText({ model: openai.chat('gpt-4o'), prompt: 'Hello', abortSignal })
    for await (const part of result.fullStream) parts.push(part.type)
    return parts
  })
  expect(output).toContain('abort')
  expect(replays).toEqual([output, output, output])
  expect([...openTape(run.path).events()]).toContainEqual(
    expect.objectContaining({ type: 'deliver', part: 'abort' }),
  )
})

test('a signal that was aborted before the run is aborted on replay', async () => {
  const agent = async (signal: AbortSignal) => {
    try {
      await fetch(`${provider.url}/echo`, { signal })
      return 'answered'
    } catch (error) {
      return (error as Error).message
    }
  }
  const late = AbortSignal.abort(new Error('too late'))
  const { output, run } = await record(options(), () => agent(late))
  expect(output).toBe('too late')
  expect((await replay(run.path, () => agent(never))).output).toBe('too late')
})

test('a signal that aborts only on replay has no effect, because the tape decides', async () => {
  const agent = async (signal: AbortSignal) =>
    (await fetch(`${provider.url}/echo`, { signal })).text()
  const { output, run } = await record(options(), () => agent(never))
  const aborted = AbortSignal.abort()
  const replayed = await replay(run.path, () => agent(aborted))
  expect(replayed.output).toBe(output)
})

test('a signal created by the run leaves no trace on the tape', async () => {
  const agent = async () => {
    const own = new AbortController()
    setTimeout(() => own.abort(), 1)
    const [event] = (await once(own.signal, 'abort')) as [Event]
    return [event.type, AbortSignal.any([own.signal]).aborted, AbortSignal.abort().aborted]
  }
  const { output, run } = await record(options(), agent)
  expect(output).toEqual(['abort', true, true])
  const names = [...openTape(run.path).events()].map((event) => 'name' in event && event.name)
  expect(names).not.toContain('abort signal')
  expect((await replay(run.path, agent)).output).toEqual(output)
})

test('two runs share one signal, and both are aborted', async () => {
  const outside = new AbortController()
  const agent = async (signal: AbortSignal) => {
    try {
      await fetch(`${provider.url}/hang`, { signal })
    } catch (error) {
      return (error as Error).name
    }
    return 'answered'
  }
  const before = provider.counts().requests
  const recorded = [0, 1].map(() => record(options(), () => agent(outside.signal)))
  while (provider.counts().requests < before + 2) await new Promise((turn) => setTimeout(turn, 2))
  outside.abort()
  for (const { output, run } of await Promise.all(recorded)) {
    expect(output).toBe('AbortError')
    expect((await replay(run.path, () => agent(never))).output).toBe('AbortError')
  }
})
