/**
 * Memory of the team server under steady work, for an hour:
 *
 *     node bench/team-hour.mjs [minutes]
 *
 * Prints a line per minute, and range and slope of the second half.
 */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { megabytes, startServer, Team, treeMegabytes, writeRun } from './measure/team.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const WATCHERS = 50

await withTemporaryFolder(async (folder) => {
  // PostgreSQL runs as another user if this runs as root.
  chmodSync(folder, 0o711)
  const minutes = Number(process.argv[2] ?? 60)
  const server = await startServer(join(folder, 'data'))
  const team = await Team.create(server)
  let events = 0
  for (let count = 0; count < WATCHERS; count++) await team.watch(() => events++)
  const started = Date.now()
  const samples = []
  let runs = 0
  let requests = 0
  const isOver = () => Date.now() - started > minutes * 60_000

  /** One person or program after the other: push, tag, list, search, look at a run. */
  const work = async (name) => {
    for (let count = 0; !isOver(); count++) {
      const id = `run-${name}-${count}`
      const tape = writeRun(join(folder, 'tapes'), id)
      await team.push(tape)
      rmSync(tape)
      runs++
      await team.send('PATCH', `/runs/${id}`, { tags: [`tag${count % 10}`] })
      await team.send('GET', '/runs')
      await team.send('GET', `/runs?q=${encodeURIComponent(`order ${id}`)}`)
      await team.request(`/bench/p/api/runs/${id}`)
      await team.request(`/bench/p/api/runs/${id}/rows?from=0`)
      requests += 9
      await pause(500)
    }
  }
  const sample = async () => {
    while (!isOver()) {
      await pause(60_000)
      const at = (Date.now() - started) / 60_000
      const own = megabytes(server.pid, 'Pss_Anon')
      const tree = treeMegabytes(server.pid)
      samples.push({ at, own, tree })
      console.log(
        `${at.toFixed(1)} min: server ${own.toFixed(0)} MB, with files and PostgreSQL ${tree.toFixed(0)} MB; ${runs} runs, ${requests} requests, ${events} events`,
      )
    }
  }
  await Promise.all([sample(), work('a'), work('b')])
  const half = samples.slice(Math.floor(samples.length / 2))
  const slope = (of) => (60 * slopeOf(half.map(({ at, ...each }) => [at, each[of]]))).toFixed(1)
  const own = half.map((each) => each.own)
  const range = `${Math.min(...own).toFixed(0)} to ${Math.max(...own).toFixed(0)} MB`
  console.log(
    `second half: server ${range}, ${slope('own')} MB per hour; whole tree ${slope('tree')} MB per hour`,
  )
  await server.stop()
})

/** By least squares. */
function slopeOf(points) {
  const mean = (index) => points.reduce((sum, each) => sum + each[index], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const [top, bottom] = points.reduce(
    ([a, b], each) => [a + (each[0] - x) * (each[1] - y), b + (each[0] - x) ** 2],
    [0, 0],
  )
  return bottom === 0 ? 0 : top / bottom
}
