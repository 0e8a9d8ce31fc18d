import { startLoopbackServer, startServer } from './measure/start-loopback-server.mjs'
import { median, pairedRatio } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const QUESTION = 'Where is my order? '.repeat(10)
const CONCURRENT = 20

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
      ...(await compareCpu(model.url, dir, quick ? 3 : 40)),
      ...(await compareThroughput(`${model.url}/slow`, dir, quick ? 2 : 12)),
    ])
  } finally {
    await model.stop()
  }
}

async function compareCpu(model, dir, rounds) {
  const perRound = 50
  const cost = await alternateServers(['plain', 'imported', 'process', 'machine', 'least'], {
    model,
    dir,
    rounds,
    round: async (url) => {
      const before = await cpuOf(url)
      for (let count = 0; count < perRound; count++) await post(url)
      return ((await cpuOf(url)) - before) / perRound / 1000
    },
  })
  const row = (way, name, gate) => ({
    name: `CPU per request of a server: ${name} / plain`,
    ratio: pairedRatio(cost[way], cost.plain),
    ...(gate && { gate }),
    method: `median of ${rounds} pairs of rounds of ${perRound} requests, each with two model calls by the openai package and a tool; ${median(cost[way]).toFixed(2)} ms against ${median(cost.plain).toFixed(2)} ms`,
  })
  return [
    row('imported', 'imported, no run', { max: 1.02 }),
    row('process', 'recording, durability process', { max: 1.15 }),
    row('machine', 'recording, durability machine'),
    row('least', 'the least recorder'),
  ]
}

async function compareThroughput(model, dir, rounds) {
  const perRound = 400
  const times = await alternateServers(['plain', 'machine', 'least'], {
    model,
    dir,
    rounds,
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
  const row = (way, name, gate) => ({
    name: `throughput of a server, ${CONCURRENT} concurrent requests: ${name} / plain`,
    ratio: pairedRatio(times.plain, times[way]),
    ...(gate && { gate }),
    method: `median of ${rounds} pairs of rounds of ${perRound} requests, each with two model calls of 20 ms; ${perSecond(times[way])} against ${perSecond(times.plain)} per second`,
  })
  return [
    row('machine', 'recording, durability machine', { min: 0.8 }),
    row('least', 'the least recorder'),
  ]
}

/** Runs rounds against each server in turns; the first rounds, which compile the code, do not count. */
async function alternateServers(ways, { model, dir, rounds, round }) {
  const servers = await Promise.all(
    ways.map((way) => startServer('agent-server.mjs', way, model, dir)),
  )
  const found = Object.fromEntries(ways.map((way) => [way, []]))
  const warmUp = Math.ceil(rounds / 4)
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
