import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { outsideRuns } from '@retake/engine'
import { project } from '@retake/runner/config'
import { cliRoot } from '../package-root.js'

/** More runs are not queued; `retake push` can send them later. */
const WAITING_MAX = 100
const MILLION = 1_000_000

const waiting: string[][] = []
let isPushing = false
let isExitWatched = false

/**
 * Sends a finished run to the team server, as `push` in `retake.config` says. Other processes do
 * this, one at a time, so that the agent neither waits for the server nor fails because of it.
 */
export function autoPush(tape: string, hasFailed: boolean): void {
  const { project: target, when = 'always', sample = 1 } = project().push
  if (target === undefined || (when === 'failed' && !hasFailed)) return
  if (randomInt(MILLION) >= sample * MILLION) return
  pushInBackground([tape, `--project=${target}`])
}

/** Runs `retake push` with these arguments in a process that outlives this one. */
export function pushInBackground(args: string[]): void {
  if (waiting.length < WAITING_MAX) waiting.push(args)
  pushNext()
}

const startPush = (args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [fileURLToPath(new URL('bin/retake.mjs', cliRoot)), 'push', ...args], {
    detached: true,
    stdio: 'ignore',
  })

function pushNext(): void {
  const args = isPushing ? undefined : waiting.shift()
  if (args === undefined) return
  isPushing = true
  // On exit, one last process gets all waiting runs.
  if (!isExitWatched)
    process.once('exit', () => {
      const rest = waiting.splice(0).flat()
      if (rest.length > 0) outsideRuns(() => startPush([...new Set(rest)]))
    })
  isExitWatched = true
  outsideRuns(() => {
    const child = startPush(args)
    let isOver = false
    const next = (): void => {
      if (isOver) return
      isOver = true
      isPushing = false
      pushNext()
    }
    child.once('error', next).once('exit', next)
    child.unref()
  })
}
