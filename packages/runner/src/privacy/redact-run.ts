import { mkdtempSync } from 'node:fs'
import path from 'node:path'
import type { RunDetails, RunView, Step } from '@retake/tape'
import { openOwnTape, openTape } from '@retake/tape/node'
import { cliErrors } from '../errors.js'
import { viewRun } from '../runs/view-run.js'
import {
  blankAnswer,
  type ChangedBodies,
  type Degree,
  DEGREES,
  Mask,
  maskBodies,
  maskedEvent,
  rewriteLineage,
} from './mask.js'
import type { Pattern } from '@retake/engine/runs'

/**
 * Writes the tapes of a run into a folder with all matches hidden, and reads them back; throws if a
 * match remains. The files are sorted from the root to the run. `mask` hides the same in related
 * data that is not on the tape. `blanked`: steps whose whole answer was removed. Not promised:
 * values encoded other than by JSON and URLs, such as base64, are not found.
 */
export function redactRun(file: string, patterns: readonly Pattern[], folder: string) {
  const line = tapeLineage(file)
  const mask = new Mask(patterns)
  const changed = maskBodies(openTape(file), mask)
  const degrees = new Map<string, Degree>()
  for (let round = 0; ; round++) {
    const into = mkdtempSync(path.join(folder, 'round-'))
    const files = rewriteLineage(line, into, rewritingOf(changed, mask))
    // Blanks more of every answer that still has a match. Returns their number.
    const file = files.at(-1) ?? ''
    const tape = openTape(file)
    const { hidden } = mask
    let left = 0
    for (const step of remainingMatches(viewRun(tape), mask)) {
      left += 1
      const tried = degrees.get(step.label)
      const degree = DEGREES[tried === undefined ? 0 : DEGREES.indexOf(tried) + 1]
      if (degree === undefined) continue
      degrees.set(step.label, degree)
      for (const [seq, body] of blankAnswer(tape, step, degree, mask)) changed.set(seq, body)
    }
    mask.hidden = Math.max(hidden, mask.hidden)

    if (left === 0) {
      const blanked = [...degrees].flatMap(([label, degree]) => (degree === 'matches' ? [] : label))
      return { files, mask, blanked }
    }
    if (round > DEGREES.length) throw cliErrors.REDACTION_INCOMPLETE(left)
  }
}

const rewritingOf = (changed: ChangedBodies, mask: Mask): Parameters<typeof rewriteLineage>[2] => ({
  run: ({ id, parent, ...run }) => ({
    ...maskedEvent({ ...run, id: '' }, mask),
    id,
    ...(parent && { parent }),
  }),
  details: (details) => mask.deep(details) as RunDetails,
  event: (event) => maskedEvent(event, mask),
  body: (seq, body) => changed.get(seq) ?? body,
})

/**
 * Reads a run as the viewer does, decompressed and with joined streams, and finds steps that still
 * contain a match. Unreadable steps count.
 */
function* remainingMatches(view: RunView, mask: Mask): Generator<Step> {
  const looked = new Set<string>()
  const hasMatch = (value: unknown): boolean =>
    anyText(value, (text) => !looked.has(text) && bad(text))
  const bad = (text: string): boolean => {
    if (mask.matches(text)) return true
    looked.add(text)
    return false
  }
  for (const step of view.steps) {
    try {
      const exchange = step.exchange()
      const call = step.call()
      const { title, error } = step
      const { answer, response, error: failed, request, messages } = exchange ?? {}
      const answers = [answer, response?.text, response?.json, call, step.mcp()]
      if (hasMatch([...answers, title, error, failed, request, messages])) yield step
    } catch {
      yield step
    }
  }
}

function anyText(value: unknown, is: (text: string) => boolean): boolean {
  if (typeof value === 'string') return is(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if (value instanceof Map) return anyText([...value], is)
  if (value instanceof Set) return anyText([...value], is)
  if (value instanceof Error) return is(value.message) || is(value.stack ?? '')
  return Object.entries(value).some(([key, member]) => is(key) || anyText(member, is))
}

/** Tape files that make up a run: the root first, the run itself last. */
export function tapeLineage(file: string): string[] {
  const line = [file]
  // Throws if an ancestor is missing or continues this run itself.
  for (let { parent } = openTape(file).run; parent !== undefined;) {
    const above = path.join(path.dirname(file), `${parent.run}.tape`)
    line.unshift(above)
    ;({ parent } = openOwnTape(above).run)
  }
  return line
}
