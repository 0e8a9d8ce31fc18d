import { hashText } from '@retake/tape'
import { diffLines } from '@retake/tape/present'
import { type FileEdit, FIX_LAYERS, type FixCandidate } from './candidates.js'
import { emptyValues, type RunBehaviour } from './losses.js'
import { editId, findSite, ParsedSource, type TextRange } from './source-text.js'

/** How far a run came. Faults that come in groups are repaired one after the other. */
export interface RunProgress {
  /** Number of steps that were answered. */
  readonly steps: number
  /** Number of lines printed. */
  readonly lines: number
  /** Number of values such as `undefined` that were printed or sent. */
  readonly empty: number
  /** Error that ended the run; `site` is its location in the project's code. */
  readonly error?: { readonly text: string; readonly site?: string }
}

export function progressOf(behaviour: RunBehaviour, site?: string): RunProgress {
  const { stdout, actions, isThrown, end } = behaviour
  const sent = actions.flatMap((action) => emptyValues(action.sent))
  return {
    steps: actions.filter(({ isFailed }) => isFailed !== true).length,
    lines: stdout.split('\n').filter((line) => line.trim() !== '').length,
    empty: emptyValues(stdout).length + sent.length,
    ...(isThrown && { error: { text: end, ...(site !== undefined && { site }) } }),
  }
}

/**
 * True if a run with a change comes further than one without it: it makes more steps, prints more,
 * fails later in the code, or has fewer empty values. Compares facts in this order. A different
 * error at the same point is not further.
 */
export function isFurther(
  now: RunProgress,
  before: RunProgress,
  edits: readonly FileEdit[],
): boolean {
  if (now.steps !== before.steps) return now.steps > before.steps
  if (now.lines !== before.lines) return now.lines > before.lines
  if (now.error === undefined || before.error === undefined) {
    if (now.error !== before.error) return now.error === undefined
  } else if (isLater(now.error.site, before.error.site, edits)) return true
  return now.empty < before.empty
}

/** True if a location in changed code comes after one in the code before the change. */
function isLater(
  now: string | undefined,
  before: string | undefined,
  edits: readonly FileEdit[],
): boolean {
  return edits.some(({ path, before: text = '', after }) => {
    const [old, changed] = [text, after].map((each) => ParsedSource.tryParse({ path, text: each }))
    if (old === undefined || changed === undefined) return false
    const from = findSite([old], before)
    const to = findSite([changed], now)
    return (
      from !== undefined && to !== undefined && to.offset > movedOffset(from.offset, text, after)
    )
  })
}

function movedOffset(offset: number, before: string, after: string): number {
  const earlier = changesOf(before, after).filter(({ end }) => end <= offset)
  return earlier.reduce((sum, { start, end, text }) => sum + text.length - (end - start), offset)
}

/** Maximum number of changes in one candidate, and of combinations that are tried. */
export const MEMBERS_MAX = 4
export const COMBINATIONS_MAX = 8

/** Both changes as one; undefined if they touch the same text or the result is not valid. */
export function combineFixes(first: FixCandidate, second: FixCandidate): FixCandidate | undefined {
  const others = new Map(second.edits.map((edit) => [edit.path, edit]))
  const edits: FileEdit[] = []
  for (const edit of first.edits) {
    const other = others.get(edit.path)
    others.delete(edit.path)
    const merged = other === undefined ? edit : mergeEdits(edit, other)
    if (merged === undefined) return undefined
    edits.push(merged)
  }
  edits.push(...others.values())
  return jointly(first, second, edits)
}

/** A change, and one to the code that it leaves. */
export function continueFix(first: FixCandidate, second: FixCandidate): FixCandidate {
  const changed = new Map(second.edits.map((edit) => [edit.path, edit]))
  const edits = first.edits.map((edit) => {
    const { after = edit.after } = changed.get(edit.path) ?? {}
    changed.delete(edit.path)
    return { ...edit, after }
  })
  return jointly(first, second, [...edits, ...changed.values()])
}

function jointly(
  first: FixCandidate,
  second: FixCandidate,
  edits: readonly FileEdit[],
): FixCandidate {
  const layers = [first.layer, second.layer].map((layer) => FIX_LAYERS.indexOf(layer))
  const { symptom = second.symptom } = first
  return {
    id: edits.length === 1 ? editId(edits[0]!) : hashText(edits.map(editId).join()).toString(36),
    operator: [...new Set([first.operator, second.operator])].join('+'),
    layer: FIX_LAYERS[Math.max(...layers)]!,
    title: `${first.title}, and ${second.title.charAt(0).toLowerCase()}${second.title.slice(1)}`,
    why: [...new Set([first.why, second.why])].join(' '),
    ...(symptom !== undefined && { symptom }),
    steps: [...new Set([...first.steps, ...second.steps])],
    edits,
    author: [first, second].some(({ author }) => author === 'model') ? 'model' : 'rule',
  }
}

interface TextChange extends TextRange {
  readonly text: string
}

function mergeEdits(one: FileEdit, other: FileEdit): FileEdit | undefined {
  const { path, before } = one
  if (before === undefined || other.before !== before) return undefined
  const changes = changesOf(before, one.after)
  const added = changesOf(before, other.after).filter(
    // Both may append the same helper function.
    (each) => !changes.some((known) => isAppended(each, before) && isSame(each, known)),
  )
  if (changes.some((change) => added.some((each) => overlaps(change, each, before))))
    return undefined
  const source = ParsedSource.tryParse({ path, text: before })
  if (source === undefined) {
    const after = applyChanges(before, [...changes, ...added])
    return after === before ? undefined : { path, before, after }
  }
  const edit = source.edit()
  for (const change of [...changes, ...added]) edit.replace(change, change.text)
  return edit.finish()
}

const isSame = (one: TextChange, other: TextChange): boolean =>
  one.start === other.start && one.end === other.end && one.text === other.text

const isAppended = ({ start }: TextRange, { length }: string): boolean => start === length

/** Two insertions at one position overlap, too, unless both append to the file. */
const overlaps = (one: TextRange, other: TextRange, before: string): boolean =>
  (one.start < other.end && other.start < one.end) ||
  (one.start === other.start &&
    one.end === one.start &&
    other.end === other.start &&
    !isAppended(one, before))

/** The smallest changes, word by word, that turn one text into another, in order. */
export function changesOf(before: string, after: string): TextChange[] {
  const changes: TextChange[] = []
  const put = (start: number, end: number, text: string): void => {
    const last = changes.at(-1)
    if (last?.end === start)
      changes[changes.length - 1] = { start: last.start, end, text: last.text + text }
    else changes.push({ start, end, text })
  }
  const lines = before.split('\n')
  let line = 0
  let offset = 0
  for (const { kind, a, b } of diffLines(before, after)) {
    const isLast = line >= lines.length - 1
    const text = (b?.parts ?? []).map((part) => part.text).join('')
    const length = lines[line]?.length ?? 0
    if (kind === 'added')
      if (line < lines.length) put(offset, offset, `${text}\n`)
      else put(before.length, before.length, `\n${text}`)
    if (kind === 'removed')
      put(isLast ? Math.max(0, offset - 1) : offset, offset + length + (isLast ? 0 : 1), '')
    if (kind === 'changed') {
      // Unchanged parts are the same on both sides, in the same order.
      const [left, right] = [[...a!.parts], [...b!.parts]]
      for (let at = offset; left.length > 0 || right.length > 0;) {
        const removed = left[0]?.isChanged === true ? left.shift()!.text : ''
        const inserted = right[0]?.isChanged === true ? right.shift()!.text : ''
        if (removed !== '' || inserted !== '') put(at, at + removed.length, inserted)
        at += removed.length
        const { text: same = '' } = left.shift() ?? {}
        right.shift()
        at += same.length
      }
    }
    if (a === undefined) continue
    line++
    offset += length + 1
  }
  return applyChanges(before, changes) === after ? changes : [wholeChange(before, after)]
}

const applyChanges = (before: string, changes: readonly TextChange[]): string => {
  let after = ''
  let at = 0
  for (const { start, end, text } of changes.toSorted((one, other) => one.start - other.start)) {
    after += before.slice(at, start) + text
    at = end
  }
  return after + before.slice(at)
}

/** Everything between the first and the last difference. */
function wholeChange(before: string, after: string): TextChange {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let same = 0
  while (same < most - start && before.at(-1 - same) === after.at(-1 - same)) same++
  return { start, end: before.length - same, text: after.slice(start, after.length - same) }
}
