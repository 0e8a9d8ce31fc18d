import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { quantile } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const cli = join(import.meta.dirname, '../packages/cli/bin/retake.mjs')
const FIRST_S = 10
const START_S = 3
const IDLE_MB = 350
const ANSWER_MS = 300
const RUNS = 100_000
const EVENTS_PER_RUN = 100
const ORG = 'bench'

/**
 * The team server: start, idle memory, and answers with many runs.
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
        ...(await measureAnswers(server, data, quick)),
      ]
    } finally {
      await server.stop()
    }
  })
}

const row = (name, ratio, { method }) => ({ name, ratio, gate: { max: 1 }, method })

async function startServer(data) {
  const started = performance.now()
  const child = spawn(process.execPath, [cli, 'server', '--data', data, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, RETAKE_REQUESTS_PER_MINUTE: '10000000' },
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /"url": ?"([^"]+)"/.exec(line) ?? []
    if (url === undefined) continue
    const seconds = (performance.now() - started) / 1000
    const stop = async () => {
      child.kill('SIGTERM')
      await ended
    }
    return { url, seconds, pid: child.pid, stop }
  }
  throw new Error('the server did not start')
}

/** Memory of a process and its descendants; shared pages count in parts. */
function treeMegabytes(root) {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        const stat = read(`/proc/${pid}/stat`)
        return stat === undefined
          ? []
          : [[Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0])]]
      }),
  )
  const isInTree = (pid) => pid === root || (parents.has(pid) && isInTree(parents.get(pid)))
  return [...parents.keys()]
    .filter(isInTree)
    .map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0))
    .reduce((sum, kilobytes) => sum + kilobytes / 1024, 0)
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** List, search and open with many runs, whose rows are written directly. */
async function measureAnswers({ url }, data, quick) {
  const client = new pg.Client({
    host: join(data, 'postgres/socket'),
    user: 'retake',
    database: 'postgres',
  })
  await client.connect()
  const runs = quick ? 1000 : RUNS
  const { createHash, randomBytes } = await import('node:crypto')
  const key = `rtk_${ORG}bench_${randomBytes(32).toString('base64url')}`
  await client.query(
    `insert into auth.organization (id, name, slug, "createdAt") values ($1, 'Bench', 'bench', now())`,
    [`${ORG}bench`],
  )
  await client.query(
    `insert into retake.project (org, id, slug, name, badge_token) values ($1, 'p', 'p', 'P', 'b')`,
    [`${ORG}bench`],
  )
  await client.query(
    `insert into retake.api_key (org, id, name, hash, shown, scopes, created_by)
     values ($1, 'k', 'bench', $2, 'x', '{read,push}', 'bench')`,
    [`${ORG}bench`, createHash('sha256').update(key).digest('hex')],
  )
  const insert = (from, to) =>
    client.query(
      `insert into retake.run (org, project, id, digest, bytes, name, started_at, status, steps,
         events, duration_ms, models, tools, failure, cluster, pushed_by, pushed_at, search)
       select $1, 'p', 'run-' || n, md5(n::text) || md5(n::text), 20000, 'agent ' || n % 50,
         now() - n * interval '1 minute', case when n % 7 = 0 then 'failed' else 'done' end, 20,
         ${EVENTS_PER_RUN}, 1000 + n % 5000, array['model-' || n % 5], array['tool-' || n % 20],
         case when n % 7 = 0 then 'wrong price ' || n % 30 end,
         case when n % 7 = 0 then 'cluster-' || n % 30 end, 'bench', now(),
         to_tsvector('simple', 'agent ' || n % 50 || ' customer c' || n || ' asks for order o' || n
           || ' refund price ' || md5(n::text) || ' ' || md5((n * 7)::text))
       from generate_series($2::int, $3::int) n`,
      [`${ORG}bench`, from, to],
    )
  const at = { small: runs / 10, large: runs }
  const timeOf = async (route) => {
    const started = performance.now()
    const response = await fetch(`${url}/api/v1/bench/projects/p${route}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    await response.text()
    if (!response.ok) throw new Error(`status ${response.status}`)
    return performance.now() - started
  }
  const routes = {
    list: () => '/runs',
    search: (n) => `/runs?q=${encodeURIComponent(`status:failed price o${n * 7}`)}`,
    'search for a common word': () => '/runs?q=refund',
    clusters: () => '/clusters?days=30',
  }
  const p95 = async (route) => {
    const times = []
    for (let n = 1; n <= (quick ? 10 : 60); n++) times.push(await timeOf(route(n)))
    return quantile(times, 0.95)
  }
  const measureAll = async () => {
    await client.query('analyze retake.run')
    const found = {}
    for (const [name, route] of Object.entries(routes)) found[name] = await p95(route)
    return found
  }
  await insert(1, at.small)
  const small = await measureAll()
  await insert(at.small + 1, at.large)
  const large = await measureAll()
  await client.end()
  return Object.keys(routes).map((name) =>
    row(
      `p95 of ${name}, ${runs.toLocaleString('en')} runs / ${ANSWER_MS} ms`,
      large[name] / ANSWER_MS,
      {
        method: `${large[name].toFixed(0)} ms; ${small[name].toFixed(0)} ms with a tenth of the runs: growth exponent ${Math.log10(large[name] / small[name]).toFixed(2)}; ${(runs * EVENTS_PER_RUN).toLocaleString('en')} events; rows written directly`,
      },
    ),
  )
}
