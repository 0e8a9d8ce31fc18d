import { defined } from '../format/values/json-shape.js'
import type { Consequence, NoteEvent } from '../format/events.js'

/** Something that a run used and Retake does not capture. */
export interface NotCaptured {
  readonly what: string
  /**
   * Call site in the agent's code, as `file:line:column`; missing if only library code used it, or
   * if a proxy recorded it.
   */
  readonly at?: string
  /** Set if a proxy recorded it, outside the program. */
  readonly isOutside?: true
  readonly count: number
  readonly code: Consequence
  /** The same in words, which may change in any version. */
  readonly consequence: string
  readonly why?: string
}

const CONSEQUENCE_TEXTS: Readonly<Record<Consequence, string>> = {
  'may-differ': 'replay may differ there',
  stops: 'replay stops there',
  'stops-at-use': 'replay stops where it is used',
  ends: 'a replay ends here, although the run continued',
  'never-replays': 'then the run cannot be replayed',
  'value-differs': 'its value differs on replay',
  'timing-differs': 'its timing may differ on replay',
  'loss-ignored': 'replay serves the result without it',
  'not-called': 'the function is not called on replay',
  'file-changed': 'a replay starts with the file as this run left it',
  'not-on-tape': 'what it does then is missing on the tape',
  'answers-missing': 'its answers are missing on replay',
  'lines-missing': 'its lines are missing on replay',
  refused: 'a replay refuses it too',
  'not-recorded': 'not recorded; replay refuses it',
  'needs-tls': 'not recorded; replay refuses it; record HTTPS with --tls',
}

/** Notes about boundaries, each with the number of its uses. */
export function groupNotes(notes: readonly NoteEvent[], isOutside: boolean): NotCaptured[] {
  const groups = new Map<string, NotCaptured>()
  for (const { kind, name, site, text, consequence: code = 'may-differ', count = 1 } of notes) {
    if (kind !== 'boundary') continue
    const key = JSON.stringify([name, site, text])
    const note = defined({
      what: name,
      at: site,
      isOutside: isOutside || undefined,
      count: (groups.get(key)?.count ?? 0) + count,
      code,
      consequence: CONSEQUENCE_TEXTS[code],
      why: text,
    })
    groups.set(key, note)
  }
  return [...groups.values()]
}
