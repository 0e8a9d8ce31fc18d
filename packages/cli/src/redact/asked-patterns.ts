import { maskKeys } from '@retake/tape'
import type { Tape } from '@retake/tape'
import { project } from '../config/project.js'
import { BUILT_IN, readPatterns, type Pattern } from './patterns.js'

/**
 * Patterns of the project, those that a command was given, and `key` when the tape holds
 * some: one of an older version, or with a key that was split over two chunks.
 */
export function askedPatterns(given: readonly string[], tape: Tape): Pattern[] {
  const asked = readPatterns([...project().redact, ...given])
  const { key } = BUILT_IN
  return key === undefined || asked.includes(key) || !holdsKeys(tape) ? asked : [...asked, key]
}

function holdsKeys(tape: Tape): boolean {
  for (const event of tape.events()) {
    const body = tape.body(event.seq)
    const text = JSON.stringify(event) + Buffer.from(body).toString('latin1')
    if (maskKeys(text) !== text) return true
  }
  return false
}
