import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { median } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const run = promisify(execFile)
const program = join(import.meta.dirname, 'peers.mjs')
const names = ['plain', 'retake', 'polly', 'nock']
const POSTS = 50

/**
 * The same posts recorded and replayed by Retake and by the recorders people
 * use today. They keep less (no order, no clock, no chunk borders, nothing on
 * disk before the end), so this is for information.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const rounds = quick ? 1 : 7
  const server = await startLoopbackServer()
  const rows = []
  for (const client of ['fetch', 'http']) {
    const times = await withTemporaryFolder((folder) =>
      measureClient({ url: server.url, client, rounds, folder }),
    )
    for (const action of ['record', 'replay'])
      rows.push(...compare(times, { client, action, rounds }))
  }
  await server.stop()
  return rows
}

async function measureClient({ url, client, rounds, folder }) {
  const times = Object.fromEntries(names.map((name) => [name, { record: [], replay: [] }]))
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const own = mkdtempSync(join(folder, `${name}-`))
      for (const action of ['record', 'replay']) {
        const args = [program, name, action, `--url=${url}`, `--folder=${own}`]
        const { stdout } = await run(process.execPath, [
          ...args,
          `--client=${client}`,
          `--count=${POSTS}`,
        ])
        const { ms, name: title } = JSON.parse(stdout)
        times[name][action].push(ms)
        times[name].title = title
      }
    }
  }
  return times
}

function compare(times, { client, action, rounds }) {
  const ms = (name) => median(times[name][action])
  return ['polly', 'nock'].map((name) => ({
    name: `${action} with Retake / with ${times[name].title}, ${client}`,
    ratio: ms('retake') / ms(name),
    method: `p50 of ${rounds} processes each, in turns, ${POSTS} posts; ${ms('retake').toFixed(0)} ms against ${ms(name).toFixed(0)} ms; no recorder at all takes ${ms('plain').toFixed(0)} ms`,
  }))
}
