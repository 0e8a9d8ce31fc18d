import { startLoopbackServer, startServer } from './measure/start-loopback-server.mjs'
import { median, pairedRatio } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const QUESTION = 'Where is my order? '.repeat(10)
const CONCURRENT = 20
const WARM_UP_REQUESTS = 500

const WAYS = {
  plain: 'plain',
  imported: 'imported, no run',
  process: 'recording, durability process',
  machine: 'recording, durability machine',
  least: 'the least recorder',
  'least-synced': 'the least recorder with syncs',
}

/**
 * The cost of recording in a server where every request is a run: CPU time per request, and
 * how many requests it answers while the model takes 20 ms per call.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const model = await startLoopbackServer()
  try {
    return await withTemporaryFolder(async (dir) => [
      ...(await compareCpu(model.url, dir, quick ? 3 : 60)),
      ...(await compareThroughput(`${model.url}/slow`, dir, quick ? 2 : 10)),
    ])
  } finally {
    await model.stop()
  }
}

async function compareCpu(model, dir, rounds) {
  const perRound = 20
  const cost = await alternateServers(['plain', 'imported', 'process', 'machine', 'least'], {
    model,
    dir,
    rounds,
    perRound,
    round: async (url) => {
      const before = await cpuOf(url)
      for (let count = 0; count < perRound; count++) await post(url)
      return ((await cpuOf(url)) - before) / perRound / 1000
    },
  })
  const row = (way, other, gate) => ({
    name: `CPU per request of a server: ${WAYS[way]} / ${WAYS[other]}`,
    ratio: pairedRatio(cost[way], cost[other]),
    ...(gate && { gate }),
    method: `median of ${rounds} pairs of rounds of ${perRound} requests, each with two model calls by the openai package and a tool; ${median(cost[way]).toFixed(2)} ms against ${median(cost[other]).toFixed(2)} ms`,
  })
  return [
    row('imported', 'plain', { max: 1.02 }),
    row('process', 'least', { max: 1.35 }),
    row('process', 'plain'),
    row('machine', 'plain'),
    row('least', 'plain'),
  ]
}

async function compareThroughput(model, dir, rounds) {
  const perRound = 200
  const times = await alternateServers(['plain', 'machine', 'least', 'least-synced'], {
    model,
    dir,
    rounds,
    perRound,
    round: async (url) => {
      const started = performance.now()
      let left = perRound
      const client = async () => {
        while (left-- > 0) await post(url)
      }
      await Promise.all(Array.from({ length: CONCURRENT }, client))
      return performance.now() - started
    },
  })
  const perSecond = (ms) => ((1000 * perRound) / median(ms)).toFixed(0)
  const row = (way, other, gate) => ({
    name: `throughput of a server, ${CONCURRENT} concurrent requests: ${WAYS[way]} / ${WAYS[other]}`,
    ratio: pairedRatio(times[other], times[way]),
    ...(gate && { gate }),
    method: `median of ${rounds} pairs of rounds of ${perRound} requests, each with two model calls of 20 ms; ${perSecond(times[way])} against ${perSecond(times[other])} per second`,
  })
  return [
    row('machine', 'least-synced', { min: 0.75 }),
    row('machine', 'plain'),
    row('least', 'plain'),
    row('least-synced', 'plain'),
  ]
}

/** Runs rounds against each server in turns; the first requests, which compile the code, do not count. */
async function alternateServers(ways, { model, dir, rounds, perRound, round }) {
  const servers = await Promise.all(
    ways.map((way) => startServer('agent-server.mjs', way, model, dir)),
  )
  const found = Object.fromEntries(ways.map((way) => [way, []]))
  const warmUp = Math.ceil(Math.min(rounds, WARM_UP_REQUESTS / perRound))
  for (let at = -warmUp; at < rounds; at++) {
    const order = servers.map((server, index) => ({ server, way: ways[index] }))
    for (const { server, way } of at % 2 === 0 ? order : order.toReversed()) {
      const value = await round(server.url)
      if (at >= 0) found[way].push(value)
    }
  }
  await Promise.all(servers.map((server) => server.stop()))
  return found
}

const cpuOf = async (url) => Number(await (await fetch(`${url}/cpu`)).text())

async function post(url) {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ question: QUESTION }),
  })
  return response.json()
}
