import { statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isMarkedAlive } from '../runs/run-store.js'
import { attempt } from '@retake/tape/format'
import type { TeamClient, TeamProject } from './team-client.js'
import { readPart, runRoute, sendPart } from './transfer-runs.js'

const PART_BYTES = 1 << 20
const POLL_MS = 500
const START_MS = 30_000
/** The server shows a recording while it hears of it. */
const ALIVE_MS = 10_000

/**
 * Sends a tape to the server while it is written, so that people can watch the run. Resolves when
 * the recording has ended; the run itself is pushed afterwards. What the server does not take is
 * left out: only the push counts.
 */
export async function followRun(
  client: TeamClient,
  target: TeamProject,
  tape: string,
): Promise<void> {
  const route = `${runRoute(target)}/live/${encodeURIComponent(path.basename(tape, '.tape'))}`
  const until = Date.now() + START_MS
  let offset = 0
  let sentAt = Date.now()
  for (;;) {
    const isAlive = isMarkedAlive(tape)
    const size = statSync(tape, { throwIfNoEntry: false })?.size ?? 0
    if (!isAlive && (size > 0 || Date.now() > until)) return
    const isDue = offset < size || (offset > 0 && Date.now() - sentAt > ALIVE_MS)
    const length = Math.min(PART_BYTES, size - offset)
    const part = isDue ? attempt(() => readPart(tape, offset, length)) : undefined
    if (part !== undefined) {
      // Where to continue: the server says how much it has.
      const received = sendPart(client, `${route}?offset=${offset}`, part)
      offset = await received.catch(async () => {
        await pause(POLL_MS)
        return offset
      })
      sentAt = Date.now()
    }
    if (part === undefined || part.length < PART_BYTES) await pause(POLL_MS)
  }
}
