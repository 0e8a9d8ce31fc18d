import fs from 'node:fs'
import { join } from 'node:path'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const nativeFetch = globalThis.fetch
const nativeNow = performance.now.bind(performance)

// Counted below the tape writer, which takes its functions when it is loaded.
const { fdatasyncSync } = fs
let syncs = 0
fs.fdatasyncSync = (file) => {
  syncs += 1
  fdatasyncSync(file)
}
const { record, tool } = await import('@retake/engine')

/**
 * What a recorded exchange costs the agent that waits for it, against the same
 * exchange with nothing in between. The server is another process.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const server = await startLoopbackServer()
  try {
    return await withTemporaryFolder(async (dir) => {
      const json = await compare(dir, (fetch) => askForJson(fetch, server.url), {
        rounds: quick ? 4 : 60,
        perRound: 25,
      })
      const durable = quantile(json.times.durable, LOW)
      const stream = await compare(dir, (fetch) => readStream(fetch, server.url, 1), {
        rounds: quick ? 2 : 12,
        perRound: 3,
      })
      const rush = await compare(dir, (fetch) => readStream(fetch, server.url, 0), {
        rounds: quick ? 2 : 12,
        perRound: 3,
      })
      return [
        {
          name: 'recorded fetch / plain fetch, JSON',
          ratio: json.ratio,
          gate: { max: 1.6 },
          method: describe(json, 'POST of 1 KB, answer of 1 KB'),
        },
        {
          name: 'recorded fetch / write + fdatasync of 1 KB and a plain fetch, JSON',
          ratio: json.recordedMs / durable,
          method: `the least for a recorder that has the request on disk before it leaves; ${json.recordedMs.toFixed(2)} ms against ${durable.toFixed(2)} ms`,
        },
        {
          name: 'recorded fetch / plain fetch, stream of 50 chunks',
          ratio: stream.ratio,
          gate: { max: 1.15 },
          method: describe(stream, 'chunks at least 1 ms apart'),
        },
        {
          name: 'recorded fetch / plain fetch, 50 chunks without a pause',
          ratio: rush.ratio,
          method: describe(rush, 'each chunk written as soon as the one before has left'),
        },
        await countSyncs(dir, server.url, quick ? 5 : 50),
      ]
    })
  } finally {
    await server.stop()
  }
}

/** Near the minimum: other work on the machine, above all on its disk, only ever adds. */
const LOW = 0.1

/** Alternates rounds of recorded, plain and durable exchanges; each exchange is timed alone. */
async function compare(dir, exchange, { rounds, perRound }) {
  const times = { recorded: [], plain: [], durable: [] }
  const file = fs.openSync(join(dir, 'floor'), 'w')
  const kilobyte = Buffer.alloc(1000, 'x')
  const run = async (fetch, name, isWarmUp) => {
    for (let count = 0; count < perRound; count++) {
      const started = nativeNow()
      await exchange(fetch)
      if (!isWarmUp) times[name].push(nativeNow() - started)
    }
  }
  const syncThenFetch = (...args) => {
    fs.writeSync(file, kilobyte)
    fdatasyncSync(file)
    return nativeFetch(...args)
  }
  const ways = [
    (isWarmUp) =>
      record({ name: 'bench', dir }, () => run((...args) => fetch(...args), 'recorded', isWarmUp)),
    (isWarmUp) => run(nativeFetch, 'plain', isWarmUp),
    (isWarmUp) => run(syncThenFetch, 'durable', isWarmUp),
  ]
  for (let round = -2; round < rounds; round++) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) await way(round < 0)
  }
  fs.closeSync(file)
  const recordedMs = quantile(times.recorded, LOW)
  const plainMs = quantile(times.plain, LOW)
  return { ratio: recordedMs / plainMs, recordedMs, plainMs, rounds, perRound, times }
}

const describe = ({ recordedMs, plainMs, rounds, perRound }, what) =>
  `${what}; p10 of ${rounds} rounds of ${perRound} in turns; ${recordedMs.toFixed(2)} ms against ${plainMs.toFixed(2)} ms`

const history = 'What does the refund policy say? '.repeat(30)
let questions = 0

/** Every question differs from the one before, as in a conversation. */
async function askForJson(fetch, url) {
  const content = `${history} And for order ${questions++}?`
  const response = await fetch(`${url}/json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({ model: 'gpt-example', messages: [{ role: 'user', content }] }),
  })
  return response.json()
}

async function readStream(fetch, url, gapMs) {
  const response = await fetch(`${url}/stream?count=50&gapMs=${gapMs}`)
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  return bytes
}

/** A real step: the agent asks the model, runs a tool, and sees its result. */
async function countSyncs(dir, url, steps) {
  const lookUp = tool('look_up', ({ id }) => ({ id, status: 'shipped' }))
  let counted = 0
  await record({ name: 'syncs', dir }, async () => {
    const before = syncs
    for (let step = 0; step < steps; step++) {
      await askForJson(fetch, url)
      await lookUp({ id: step })
    }
    counted = syncs - before
  })
  return {
    name: 'fdatasync per step of a recorded agent',
    ratio: counted / steps,
    gate: { max: 3 },
    method: `counted at the system call, ${steps} steps of one model call and one tool call`,
  }
}
