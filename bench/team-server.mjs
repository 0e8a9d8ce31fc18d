import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { quantile } from './measure/statistics.mjs'
import { startServer, Team, treeMegabytes, writeRun } from './measure/team.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const FIRST_S = 10
const START_S = 3
const IDLE_MB = 350
const ANSWER_MS = 300
const RUNS = 100_000
const EVENTS_PER_RUN = 100
const PUSHES_PER_S = 10
const PUSHERS = 4
const WATCHERS = 200
const EVENT_MS = 300

/**
 * The team server: start, idle memory, pushes, events for many pages, and answers with many runs.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  return withTemporaryFolder(async (folder) => {
    // PostgreSQL runs as another user if this runs as root.
    chmodSync(folder, 0o711)
    const data = join(folder, 'data')
    const first = await startServer(data)
    await first.stop()
    const starts = []
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      const server = await startServer(data)
      starts.push(server.seconds)
      await server.stop()
    }
    const server = await startServer(data)
    await pause(quick ? 500 : 5000)
    const idle = treeMegabytes(server.pid)
    try {
      return [
        row('first start of the team server / 10 s', first.seconds / FIRST_S, {
          method: `${first.seconds.toFixed(1)} s from the command to its address, with a new data folder`,
        }),
        row('start of the team server / 3 s', quantile(starts, 0) / START_S, {
          method: `least of ${starts.length} starts: ${quantile(starts, 0).toFixed(2)} s`,
        }),
        row('idle memory of the process tree / 350 MB', idle / IDLE_MB, {
          method: `PSS of server and PostgreSQL after some seconds: ${idle.toFixed(0)} MB`,
        }),
        ...(await measureWork(server, folder, quick)),
      ]
    } finally {
      await server.stop()
    }
  })
}

const row = (name, ratio, { method }) => ({ name, ratio, gate: { max: 1 }, method })

async function measureWork(server, folder, quick) {
  const team = await Team.create(server)
  const tapes = join(folder, 'tapes')
  return [
    await measurePushes(team, tapes, quick),
    ...(await measureEvents(server, team, quick)),
    ...(await measureAnswers(server, team, tapes, quick)),
  ]
}

/** Several programs push runs, each one after the other. */
async function measurePushes(team, tapes, quick) {
  const each = quick ? 5 : 50
  const names = (pusher) => Array.from({ length: each }, (_, n) => `pushed-${pusher}-${n}`)
  const written = Array.from({ length: PUSHERS }, (_, pusher) =>
    names(pusher).map((id) => writeRun(tapes, id)),
  )
  const started = performance.now()
  await Promise.all(
    written.map(async (files) => {
      for (const file of files) await team.push(file)
    }),
  )
  const perSecond = (PUSHERS * each) / ((performance.now() - started) / 1000)
  return row(`${PUSHES_PER_S} pushes per second / measured`, PUSHES_PER_S / perSecond, {
    method: `${perSecond.toFixed(1)} runs of 58 events per second by ${PUSHERS} programs, each confirmed on disk; programs and server share the machine`,
  })
}

/** Open pages that learn about changes. */
async function measureEvents({ pid }, team, quick) {
  const before = treeMegabytes(pid)
  const watchers = quick ? 20 : WATCHERS
  let received = []
  for (let count = 0; count < watchers; count++)
    await team.watch(() => received.push(performance.now()))
  const delays = []
  for (let change = 0; change < (quick ? 3 : 20); change++) {
    received = []
    const started = performance.now()
    await team.send('PATCH', '/runs/pushed-0-0', { tags: [`change${change}`] })
    for (let waited = 0; received.length < watchers && waited < 200; waited++) await pause(10)
    if (received.length < watchers)
      throw new Error(`${received.length} of ${watchers} pages learned about a change`)
    delays.push(...received.map((at) => at - started))
  }
  const p95 = quantile(delays, 0.95)
  const more = treeMegabytes(pid) - before
  return [
    row(`p95 of an event, ${watchers} open pages / ${EVENT_MS} ms`, p95 / EVENT_MS, {
      method: `${p95.toFixed(0)} ms from the request that changes a run to its event on each page`,
    }),
    row(`memory of ${watchers} open pages / 100 MB`, more / 100, {
      method: `${more.toFixed(0)} MB more than without them`,
    }),
  ]
}

/** List, search and open with many runs. Most rows are written directly, without tapes. */
async function measureAnswers({ data }, team, tapes, quick) {
  const client = new pg.Client({
    host: join(data, 'postgres/socket'),
    user: 'retake',
    database: 'postgres',
  })
  await client.connect()
  const runs = quick ? 1000 : RUNS
  const { rows } = await client.query('select org, id from retake.project')
  const { org, id: project } = rows[0]
  const insert = (from, to) =>
    client.query(
      `insert into retake.run (org, project, id, digest, bytes, name, started_at, status, steps,
         events, duration_ms, models, tools, failure, cluster, pushed_by, pushed_at, search)
       select $1, $4, 'run-' || n, md5(n::text) || md5(n::text), 20000, 'agent ' || n % 50,
         now() - n * interval '1 minute', case when n % 7 = 0 then 'failed' else 'done' end, 20,
         ${EVENTS_PER_RUN}, 1000 + n % 5000, array['model-' || n % 5], array['tool-' || n % 20],
         case when n % 7 = 0 then 'wrong price ' || n % 30 end,
         case when n % 7 = 0 then 'cluster-' || n % 30 end, 'bench', now(),
         to_tsvector('simple', 'agent ' || n % 50 || ' customer c' || n || ' asks for order o' || n
           || ' refund price ' || md5(n::text) || ' ' || md5((n * 7)::text))
       from generate_series($2::int, $3::int) n`,
      [org, from, to, project],
    )
  const at = { small: runs / 10, large: runs }
  const rounds = quick ? 10 : 60
  for (let n = 1; n <= rounds; n++) await team.push(writeRun(tapes, `opened-${n}`, { steps: 7 }))
  const of = (route) => (n) => team.send('GET', route(n))
  const questions = {
    list: of(() => '/runs'),
    search: of((n) => `/runs?q=${encodeURIComponent(`status:failed price o${n * 7}`)}`),
    'search for a common word': of(() => '/runs?q=refund'),
    clusters: of(() => '/clusters?days=30'),
    'open, not in the cache': async (n) => {
      await team.request(`/bench/p/api/runs/opened-${n}`)
      await team.request(`/bench/p/api/runs/opened-${n}/rows?from=0`)
    },
  }
  const p95 = async (question) => {
    const times = []
    for (let n = 1; n <= rounds; n++) {
      const started = performance.now()
      await question(n)
      times.push(performance.now() - started)
    }
    return quantile(times, 0.95)
  }
  const measureAll = async () => {
    await client.query('analyze retake.run')
    rmSync(join(data, 'cache'), { recursive: true, force: true })
    const found = {}
    for (const [name, question] of Object.entries(questions)) found[name] = await p95(question)
    return found
  }
  await insert(1, at.small)
  const small = await measureAll()
  await insert(at.small + 1, at.large)
  const large = await measureAll()
  await client.end()
  return Object.keys(questions).map((name) =>
    row(
      `p95 of ${name}, ${runs.toLocaleString('en')} runs / ${ANSWER_MS} ms`,
      large[name] / ANSWER_MS,
      {
        method: `${large[name].toFixed(0)} ms; ${small[name].toFixed(0)} ms with a tenth of the runs: growth exponent ${Math.log10(large[name] / small[name]).toFixed(2)}; ${(runs * EVENTS_PER_RUN).toLocaleString('en')} events`,
      },
    ),
  )
}
