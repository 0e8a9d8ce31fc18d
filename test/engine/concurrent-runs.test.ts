import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { runLibrary } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { startProviderProcess } from '../support/start-provider-process.mjs'
import { isSoak, repetitions, sampled } from '../support/soak.js'

/**
 * Many runs in one process, as in a server: what one does must never be on the
 * tape of another. Swapped answers show in some rounds only, so a soak repeats.
 */
const rounds = repetitions('RETAKE_ROUNDS', { beforeMerge: 1, soak: 20 })
const runsAtOnce = isSoak ? 30 : 8

interface Outcome {
  readonly marker: string
  readonly tape: string
  readonly output?: unknown
  readonly error?: string
}

const program = agentPath('library/run-many.mjs')

/** Outcomes of the recorded ones first, then of the replayed ones. */
async function runMany(workspace: Workspace, task: object): Promise<Outcome[]> {
  const { result } = await runLibrary(program, task, { cwd: workspace.folder })
  return result as Outcome[]
}

const errorsOf = (outcomes: readonly Outcome[]): string[] =>
  outcomes.flatMap(({ marker, error }) => (error === undefined ? [] : [`${marker}: ${error}`]))

/** Markers of other runs that stand anywhere on this tape, decoded. */
function foreignMarkers(path: string, own: string, all: readonly string[]): string[] {
  const tape = openTape(path)
  const texts = [...tape.events()].map(
    (event) => JSON.stringify(event) + Buffer.from(tape.body(event.seq)).toString(),
  )
  const everything = texts.join('\n')
  expect(everything).toContain(own)
  return all.filter((marker) => marker !== own && everything.includes(marker))
}

test(
  `${runsAtOnce} runs recorded concurrently replay alone and concurrently, ${rounds} times`,
  { timeout: 600_000 + rounds * 60_000 },
  async () => {
    for (let round = 1; round <= rounds; round++) {
      const workspace = await makeWorkspace()
      const provider = await startProviderProcess({ maxLatencyMs: 12 })
      const markers = Array.from({ length: runsAtOnce }, (_, index) => `run-${round}-${index}-end`)
      const base = provider.url
      const dir = join(workspace.folder, 'tapes')
      const recorded = await runMany(workspace, { base, record: { dir, markers } })

      // New runs are recorded beside some that are replayed.
      const more = { dir: join(workspace.folder, 'more'), markers: ['one-more', 'and-another'] }
      const some = recorded.slice(0, 5)
      const mixed = await runMany(workspace, { base, record: more, replay: some })
      expect(errorsOf(mixed), `round ${round}, mixed`).toEqual([])
      expect(mixed.slice(2)).toEqual(some)
      await provider.stop()
      const again = await runMany(workspace, { base, replay: mixed.slice(0, 2) })
      expect(again, `round ${round}, recorded among replays`).toEqual(mixed.slice(0, 2))

      expect(recorded.map(({ marker }) => marker)).toEqual(markers)
      expect(readdirSync(dir)).toHaveLength(runsAtOnce)

      for (const { marker, tape } of recorded) {
        expect(foreignMarkers(tape, marker, markers), `on the tape of ${marker}`).toEqual([])
        expect(openTape(tape).verify()).toMatchObject({ ok: true })
        expect(readFileSync(tape, 'latin1')).not.toContain('shared connection')
      }

      const together = await runMany(workspace, { base, replay: recorded })
      expect(errorsOf(together), `round ${round}, all at once`).toEqual([])
      expect(together).toEqual(recorded)

      // Two at a time: each in its own process all the same.
      const single = sampled(recorded, (_, index) => index % 8 === 0)
      for (let index = 0; index < single.length; index += 2) {
        const pair = single.slice(index, index + 2)
        const alone = await Promise.all(
          pair.map((outcome) => runMany(workspace, { base, replay: [outcome] })),
        )
        expect(errorsOf(alone.flat()), `round ${round}, alone`).toEqual([])
        expect(alone.flat()).toEqual(pair)
      }
      await workspace.remove()
    }
  },
)
