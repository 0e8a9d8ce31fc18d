import type { CapturedState, Tape } from '@retake/tape'
import { readStates, stateFileOf } from '../../state-file.js'
import { stampOf } from './tape-stamps.js'

/** The states that `retake snapshot` left beside tapes. Those of the run that was asked about last are kept. */
export class CapturedStates {
  #kept: { readonly key: string; readonly states: readonly CapturedState[] } | undefined

  /** Throws when they cannot be read. */
  of(tape: Tape): readonly CapturedState[] {
    const file = stateFileOf(tape)
    const stamp = stampOf(file)
    if (stamp === undefined) return []
    const key = `${file} ${stamp.text}`
    if (this.#kept?.key !== key) this.#kept = { key, states: readStates(tape) ?? [] }
    return this.#kept.states
  }

  /** None when they cannot be read: who asks for one of them is told why. */
  readable(tape: Tape): readonly CapturedState[] {
    try {
      return this.of(tape)
    } catch {
      return []
    }
  }
}
