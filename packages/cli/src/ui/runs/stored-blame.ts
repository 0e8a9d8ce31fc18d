import { readFileSync } from 'node:fs'
import type { Tape } from '@retake/tape'
import { readRunBlame, type RunBlame } from '@retake/web'
import { findingsPath } from '../../blame/findings-file.js'
import { findingsUnreadable } from '../../errors.js'
import { stampOf } from './tape-stamps.js'

/** What `retake blame` came to about a run; undefined when it was not searched. Throws when it cannot be read. */
export function storedBlame(tape: Tape): RunBlame | undefined {
  const file = findingsPath(tape.path, tape.run.id)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw findingsUnreadable(file, error)
  }
  try {
    return readRunBlame(JSON.parse(text) as unknown, tape.run.id)
  } catch (error) {
    throw findingsUnreadable(file, error)
  }
}

/** Findings beside tapes, read once as long as they stay as they are. Those that were asked for last are kept. */
export class StoredBlame {
  #kept: { readonly key: string; readonly blame: RunBlame | undefined } | undefined

  of(tape: Tape): RunBlame | undefined {
    const file = findingsPath(tape.path, tape.run.id)
    const stamp = stampOf(file)
    const key = `${file} ${stamp?.text}`
    if (stamp === undefined || this.#kept?.key !== key)
      this.#kept = { key, blame: storedBlame(tape) }
    return this.#kept.blame
  }
}
