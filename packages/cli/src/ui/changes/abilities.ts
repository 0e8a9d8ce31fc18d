import type { Tape } from '@retake/tape'
import type { Abilities, RunStatus } from '@retake/web'
import { RunNotTrusted } from '../../errors/trust.js'
import { explain } from '../../print-error.js'
import { startOf } from '../../replay-command.js'

/** What can be done with a run here, and why not. Credentials are asked for when something goes live. */
export function abilitiesOf(tape: Tape, status: RunStatus): Abilities {
  const can = status === 'recording' ? 'It is still being recorded.' : startable(tape)
  return { fork: can, rerun: can, step: can }
}

function startable(tape: Tape): true | string {
  try {
    startOf(tape)
    return true
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined) throw error
    const { what, why, fix } = explained
    return error instanceof RunNotTrusted ? `${what} ${why}. ${fix}` : `${what} ${why}`
  }
}
