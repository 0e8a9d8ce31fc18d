import fs from 'node:fs'
import { join } from 'node:path'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { fetchInto } from './measure/least-recorder.mjs'
import { median, pairedRatio } from './measure/statistics.mjs'
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
        rounds: quick ? 4 : 100,
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
          name: 'recorded fetch / write + fdatasync of the request and a plain fetch, JSON',
          gate: { max: 1.2 },
          ...json.row('machine', 'durable', 'POST of 1 KB, answer of 1 KB'),
        },
        {
          name: 'fetch of the least recorder / write + fdatasync of the request and a plain fetch, JSON',
          ...json.row('leastSynced', 'durable', 'two writes, two hashes, a sync and a turn'),
        },
        {
          name: "recorded fetch with durability 'process' / plain fetch, JSON",
          gate: { max: 1.35 },
          ...json.row('process', 'plain', 'the same'),
        },
        {
          name: 'fetch of the least recorder / plain fetch, JSON',
          ...json.row('least', 'plain', 'two writes, two hashes and a turn'),
        },
        {
          name: 'recorded fetch / plain fetch, JSON',
          ...json.row('machine', 'plain', 'the same'),
        },
        {
          name: 'recorded fetch / plain fetch, stream of 50 chunks',
          gate: { max: 1.1 },
          ...stream.row('machine', 'plain', 'chunks at least 1 ms apart'),
        },
        {
          name: 'recorded fetch / plain fetch, 50 chunks without a pause',
          ...rush.row('machine', 'plain', 'each chunk written as soon as the one before has left'),
        },
        await countSyncs(dir, server.url, quick ? 5 : 50),
      ]
    })
  } finally {
    await server.stop()
  }
}

/**
 * Alternates rounds of exchanges, so that each round of one way has neighbours of the others:
 * recorded with both durabilities, plain, plain after writing and syncing the request, and
 * the least recorder.
 */
async function compare(dir, exchange, { rounds, perRound }) {
  const medians = { machine: [], process: [], plain: [], durable: [], least: [], leastSynced: [] }
  const file = fs.openSync(join(dir, 'floor'), 'w')
  const run = async (fetch, name, isWarmUp) => {
    const times = []
    for (let count = 0; count < perRound; count++) {
      const started = nativeNow()
      await exchange(fetch)
      times.push(nativeNow() - started)
    }
    if (!isWarmUp) medians[name].push(median(times))
  }
  const syncThenFetch = (url, init) => {
    fs.writeSync(file, init?.body ?? url)
    fdatasyncSync(file)
    return nativeFetch(url, init)
  }
  const recorded = (durability) => (isWarmUp) =>
    record({ name: 'bench', dir, durability }, () =>
      run((...args) => fetch(...args), durability, isWarmUp),
    )
  const ways = [
    (isWarmUp) => run(fetchInto(file), 'least', isWarmUp),
    (isWarmUp) => run(fetchInto(file, fdatasyncSync), 'leastSynced', isWarmUp),
    recorded('machine'),
    (isWarmUp) => run(syncThenFetch, 'durable', isWarmUp),
    (isWarmUp) => run(nativeFetch, 'plain', isWarmUp),
    recorded('process'),
  ]
  for (let round = -4; round < rounds; round++) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) await way(round < 0)
  }
  fs.closeSync(file)
  return {
    row: (way, other, what) => ({
      ratio: pairedRatio(medians[way], medians[other]),
      method: `${what}; median of ${rounds} pairs of rounds of ${perRound}; ${median(medians[way]).toFixed(2)} ms against ${median(medians[other]).toFixed(2)} ms`,
    }),
  }
}

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
