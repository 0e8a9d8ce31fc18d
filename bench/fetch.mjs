import fs from 'node:fs'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { median } from './measure/statistics.mjs'
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

/** Alternates rounds of recorded and plain exchanges; each exchange is timed alone. */
async function compare(dir, exchange, { rounds, perRound }) {
  const times = { recorded: [], plain: [] }
  const run = async (fetch, into) => {
    for (let count = 0; count < perRound; count++) {
      const started = nativeNow()
      await exchange(fetch)
      into.push(nativeNow() - started)
    }
  }
  const recordRound = (into) =>
    record({ name: 'bench', dir }, () => run((...args) => fetch(...args), into))
  for (let round = -2; round < rounds; round++) {
    const recorded = round < 0 ? [] : times.recorded
    const plain = round < 0 ? [] : times.plain
    if (round % 2 === 0) await recordRound(recorded)
    await run(nativeFetch, plain)
    if (round % 2 !== 0) await recordRound(recorded)
  }
  const recordedMs = median(times.recorded)
  const plainMs = median(times.plain)
  return { ratio: recordedMs / plainMs, recordedMs, plainMs, rounds, perRound }
}

const describe = ({ recordedMs, plainMs, rounds, perRound }, what) =>
  `${what}; p50 of ${rounds} rounds of ${perRound} in turns; ${recordedMs.toFixed(2)} ms against ${plainMs.toFixed(2)} ms`

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
