import type {
  FieldDiff,
  FirstDivergence,
  LineDiff,
  RunDiff,
  RunSide,
  SharedPart,
  StepDiff,
  StepRef,
  ToolListDiff,
  ValueDiff,
} from '@retake/tape/diff'
import { cost, duration, localTime, plural, valueTexts } from '@retake/tape/present'
import {
  linesOf,
  cutTo,
  type Look,
  printable,
  type Style,
  tableLines,
  wrap,
  wrapFacts,
} from './terminal.js'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import type { RunComparison } from '@retake/tape'
import { openTape } from '@retake/tape/node'

/** One side of a difference, with a little context around the part that differs. */
export interface Excerpt {
  readonly before: string
  readonly differs: string
  readonly after: string
}

const CONTEXT = 32

/** One-line excerpts around the first difference of two texts. */
export function excerpts(recorded: string, current: string, width: number): [Excerpt, Excerpt] {
  const most = Math.min(recorded.length, current.length)
  let start = 0
  while (start < most && recorded[start] === current[start]) start += 1
  let end = 0
  while (end < most - start && recorded.at(-1 - end) === current.at(-1 - end)) end += 1
  start = wordStart(recorded, start)
  end = wordEnd(recorded, end, recorded.length - start, current.length - start)
  return [cut(recorded, start, end, width), cut(current, start, end, width)]
}

/** Moves back to the start of the word, so that readers can compare whole words. */
function wordStart(text: string, from: number): number {
  let start = from
  while (start > 0 && from - start < CONTEXT && /[\p{L}\p{N}]/u.test(text[start - 1] ?? ''))
    start -= 1
  return start
}

function wordEnd(text: string, from: number, ...lengths: number[]): number {
  let end = Math.min(from, ...lengths)
  while (end > 0 && from - end < CONTEXT && /[\p{L}\p{N}]/u.test(text.at(-end) ?? '')) end -= 1
  return end
}

function cut(text: string, start: number, end: number, width: number): Excerpt {
  const before = oneLine(text.slice(0, start))
  const differs = oneLine(text.slice(start, text.length - end))
  const after = oneLine(text.slice(text.length - end))
  const shownBefore = before.length > CONTEXT ? `…${before.slice(1 - CONTEXT)}` : before
  const room = Math.max(8, width - shownBefore.length)
  if (differs.length > room)
    return { before: shownBefore, differs: `${differs.slice(0, room - 1)}…`, after: '' }
  const rest = room - differs.length
  const shownAfter = after.length > rest ? `${after.slice(0, Math.max(0, rest - 1))}…` : after
  return { before: shownBefore, differs, after: shownAfter }
}

const oneLine = (text: string): string =>
  printable(text.replaceAll('\n', '⏎').replaceAll('\t', ' '))

export function descentText({ a, b, shared }: RunDiff): string | undefined {
  if (shared === undefined) return undefined
  const events = plural(shared.events, 'event')
  if (shared.run === a.id) return `b branched off a after ${events}`
  if (shared.run === b.id) return `a branched off b after ${events}`
  return `both branched off ${shared.run} and share ${events}`
}

/** Totals that at least one of the runs has, then how each run ended. */
export function totalsOf({ a, b }: RunDiff): RunComparison['totals'][number][] {
  const sums = FACTS.map(({ name, read, show }) => {
    const [left, right] = [read(a), read(b)]
    const isKnown = left !== undefined && right !== undefined && left !== right
    const shown = { name, a: show(left), b: show(right) }
    if (!isKnown || left === -1 || right === -1) return shown
    const by = show(Math.abs(right - left))
    // `<`: too small to show digits.
    const change = by.startsWith('<') ? '≈ same' : `${right > left ? '+' : '-'}${by}`
    return { ...shown, change }
  })
  return [
    ...sums.filter((sum) => sum.a !== '' || sum.b !== ''),
    {
      name: 'exit',
      a: endOf(a),
      b: endOf(b),
      ...(endOf(a) !== endOf(b) && { change: 'changed' }),
    },
  ]
}

interface Fact {
  readonly name: string
  readonly read: (side: RunSide) => number | undefined
  readonly show: (value: number | undefined) => string
}

const count = (value: number | undefined): string => String(value ?? '')
const FACTS: readonly Fact[] = [
  { name: 'steps', read: ({ steps }) => steps, show: count },
  { name: 'model calls', read: ({ totals }) => totals.modelCalls, show: count },
  { name: 'tool calls', read: ({ totals }) => totals.toolCalls, show: count },
  {
    name: 'tokens in',
    read: ({ totals: { usage } }) => usage.input + usage.cachedInput + usage.cacheWrite,
    show: count,
  },
  { name: 'tokens out', read: ({ totals }) => totals.usage.output, show: count },
  {
    name: 'cost',
    read: ({ totals }) => (totals.modelCalls > 0 ? (totals.costUsd ?? -1) : undefined),
    show: (value) => (value === -1 ? 'unknown' : cost(value)),
  },
  {
    name: 'took',
    read: ({ durationMs }) => durationMs,
    show: (value) => (value === undefined ? '' : duration(value)),
  },
]

function endOf({ exit, status }: RunSide): string {
  if (exit?.error !== undefined) return exit.error.name
  if (exit?.signal !== undefined) return exit.signal
  if (exit === undefined) return status === 'truncated' ? 'cut off' : ''
  return String(exit.code ?? 'done')
}

function fieldLines(diff: ValueDiff, look: DiffLook): string[] {
  const path = cutTo(printable(diff.path), look.width - 2)
  return [`  ${look.paint('cyan', path)}`, ...sidesLines(...valueSides(diff), look)]
}

/**
 * The first run's value with `-` and the second's with `+`, if present. On one line each, both are
 * cut to the difference.
 */
function sidesLines(
  left: string | undefined,
  right: string | undefined,
  { paint, width, full }: DiffLook,
): string[] {
  const [before, now] = excerpts(left ?? '', right ?? '', width - 4)
  const side = (sign: string, style: Style, text: string | undefined, cut: Excerpt): string[] => {
    if (text === undefined) return []
    if (full)
      return printable(text)
        .split('\n')
        .map((line) => `  ${paint(style, `${sign} ${line}`)}`)
    const marked = cut.differs && paint('bold', paint(style, cut.differs))
    const lead = paint(style, `${sign} ${cut.before}`)
    return [`  ${lead}${marked}${cut.after && paint(style, cut.after)}`]
  }
  return [...side('-', 'red', left, before), ...side('+', 'green', right, now)]
}

/** Both sides of a difference as text: messages as people read them, other values with their type. */
export function valueSides(
  { a, b }: Pick<ValueDiff, 'a' | 'b'>,
  options?: { readonly indent?: number },
): [a: string | undefined, b: string | undefined] {
  const [left, right] = valueTexts([a, b], options)
  return [shownMessage(a) ?? left, shownMessage(b) ?? right]
}

/** Text of a message after its role; undefined if the value is not a message. */
function shownMessage(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('role' in value && 'parts' in value))
    return undefined
  const { role, parts } = value as ShownMessage
  return `${role}: ${parts.map(partText).join('\n')}`
}

interface ShownMessage {
  readonly role: string
  readonly parts: readonly Readonly<Record<string, unknown>>[]
}

function partText({ text, name, args, content, ...rest }: ShownMessage['parts'][number]): string {
  if (typeof text === 'string') return text
  if (typeof name === 'string') return `→ ${name}(${JSON.stringify(args)})`
  if (content === undefined) return JSON.stringify(rest)
  return `← ${typeof content === 'string' ? content : JSON.stringify(content)}`
}

/** Number of differences per step shown without --full. */
const FIELDS_MAX = 8

/** All differences in one step. Counts repeated conversation history without showing it. */
export function stepDiffLines(diff: StepDiff, look: DiffLook): string[] {
  const { fields, carried } = diff
  const news = fields.filter(({ area }) => area !== 'usage')
  const shown = look.full ? news : news.slice(0, FIELDS_MAX)
  const hidden = [
    ...(news.length > shown.length ? [plural(news.length - shown.length, 'more difference')] : []),
    ...(carried.length > 0
      ? [
          `${plural(carried.length, 'message')} that differ${carried.length === 1 ? 's' : ''} as in earlier steps`,
        ]
      : []),
  ]
  return [
    headLine(diff, look),
    ...shown.flatMap((field) => fieldLines(field, look)),
    ...(hidden.length > 0
      ? [`  ${look.paint('dim', `${shown.length > 0 ? '… and ' : ''}${hidden.join(', ')}`)}`]
      : []),
    ...usageLines(diff, look),
  ]
}

function headLine({ change, a, b }: StepDiff, { paint, width }: DiffLook): string {
  const step = a ?? b
  const label =
    a !== undefined && b !== undefined && a.label !== b.label
      ? `${a.label} → ${b.label}`
      : step?.label
  const [sign, note] = HEADS[change]
  const lead = `${sign}step ${label}  `
  const title = cutTo(printable(`${note}${titleOf(a, b)}`), width - lead.length)
  const style = change === 'removed' ? 'red' : 'green'
  return change === 'removed' || change === 'added'
    ? paint(style, lead + title)
    : `${paint('bold', lead)}${title}`
}

const HEADS: Readonly<Record<StepDiff['change'], readonly [sign: string, note: string]>> = {
  changed: ['', ''],
  moved: ['', 'in another order: '],
  removed: ['- ', 'only in a: '],
  added: ['+ ', 'only in b: '],
}

/** Common part of two titles: the model, without its answer. */
function titleOf(a: StepRef | undefined, b: StepRef | undefined): string {
  const title = (a ?? b)?.title ?? ''
  if (a === undefined || b === undefined || a.title === b.title) return title
  return a.kind === 'model' ? (title.split(' → ')[0] ?? title) : title
}

function usageLines({ a, b, fields, change }: StepDiff, { paint, width }: DiffLook): string[] {
  if (change === 'added' || change === 'removed') return []
  const facts = fields.filter(({ area }) => area === 'usage').map(usageFact)
  const took = [a, b].map((side) =>
    side?.latencyMs === undefined ? '?' : duration(side.latencyMs),
  )
  const isTimed = a?.latencyMs !== undefined || b?.latencyMs !== undefined
  if (isTimed && took[0] !== took[1]) facts.push(`took ${took.join(' → ')}`)
  return wrapFacts(facts.join(' · '), width - 2).map((line) => `  ${paint('dim', line)}`)
}

/** `usage.input 36 → 40` in the words of a bill. */
function usageFact({ path, a, b }: FieldDiff): string {
  if (path === 'costUsd') {
    const [before, now] = [a, b].map((usd) => cost(usd as number) || '?')
    return before === now ? `cost ≈ ${now}` : `cost ${before} → ${now}`
  }
  const name = path.replace(/^usage\.?/, '') || 'usage'
  return `${NAMES[name] ?? name} ${shown(a)} → ${shown(b)}`
}

const NAMES: Readonly<Record<string, string>> = {
  input: 'tokens in',
  cachedInput: 'cached in',
  cacheWrite: 'cache write',
  output: 'tokens out',
}

const shown = (value: unknown): string => (value === undefined ? '?' : JSON.stringify(value))

export interface DiffLook extends Look {
  readonly full: boolean
}

/** Number of steps and lines of output shown without --full. */
const STEPS_MAX = 40
const LINES_MAX = 12

export function comparisonLines(diff: RunDiff, look: DiffLook): string[] {
  const { toolLists, outcome } = diff
  const { paint, width } = look
  const side = (letter: string, { id, name, startedAt }: RunSide): string =>
    `${paint('bold', letter)}  ${cutTo(`${id}  ${localTime(startedAt)}  ${printable(name)}`, width - 3)}`
  const header = ['', 'a', 'b', ''].map((cell) => paint('dim', cell))
  const totals = totalsOf(diff).map(({ name, a, b, change: by = '' }) => [name, a, b, by])
  // Steps that differ only in the tools, which are listed above them, are not repeated.
  const steps = diff.steps.filter(
    ({ a, change, fields }) =>
      toolLists.length === 0 ||
      change !== 'changed' ||
      a?.kind !== 'mcp' ||
      !fields.every(({ path }) => path.startsWith('result.tools')),
  )
  const shown = look.full ? steps : steps.slice(0, STEPS_MAX)
  const rest = steps.length - shown.length
  return linesOf(
    side('a', diff.a),
    side('b', diff.b),
    descentText(diff),
    '',
    ...tableLines([header, ...totals], width),
    '',
    ...verdict(diff, look),
    ...toolLists.flatMap((list) => ['', ...toolListLines(list, look)]),
    ...shown.flatMap((step) => ['', ...stepDiffLines(step, look)]),
    rest > 0 && ['', `… ${plural(rest, 'more step')} (--full shows all, --step N one)`],
    ...outputLines(diff.output, look),
    outcome.length > 0 && ['', paint('bold', 'outcome')],
    ...outcome.flatMap((each) => fieldLines(each, look)),
  )
}

function verdict({ equal, first, counts }: RunDiff, { paint, width }: Look): string[] {
  if (equal) return [paint('green', 'No difference.')]
  const { same, changed, moved, removed, added } = counts
  const parts = [
    `${same} the same`,
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(moved > 0 ? [`${moved} in another order`] : []),
    ...(removed > 0 ? [`${removed} only in a`] : []),
    ...(added > 0 ? [`${added} only in b`] : []),
  ]
  const where = first === undefined ? '' : `First difference: ${locationOf(first)}`
  return [paint('bold', cutTo(where, width)), ...wrap(parts.join(' · '), width)]
}

export function locationOf(first: FirstDivergence): string {
  if (first.in === 'output') {
    const { stream, a, b } = first.line
    return `line ${(a ?? b)?.line} of ${stream}`
  }
  if (first.in === 'outcome') return `the outcome, ${first.path}`
  const { change, a, b, path } = first
  if (change === 'removed') return `step ${a}, which only a has`
  if (change === 'added') return `step ${b}, which only b has`
  const label = a === b ? `step ${a}` : `step ${a} of a, ${b} of b`
  return path === undefined ? `${label}, in another order` : `${label}, ${path}`
}

function outputLines(lines: readonly LineDiff[], look: DiffLook): string[] {
  const { paint, full } = look
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    const own = lines.filter((line) => line.stream === stream)
    if (own.length === 0) return []
    const shown = full ? own : own.slice(0, LINES_MAX)
    const rest = own.length - shown.length
    return [
      '',
      `${paint('bold', stream)}  ${plural(own.length, 'line')} differ${own.length === 1 ? 's' : ''}`,
      ...shown.flatMap(({ a, b }) => sidesLines(a?.text, b?.text, look)),
      ...(rest > 0 ? [`  … ${plural(rest, 'more line')} (--full shows all)`] : []),
    ]
  })
}

function toolListLines(
  { server, added, removed, changed }: ToolListDiff,
  look: DiffLook,
): string[] {
  const { paint } = look
  return [
    paint('bold', `tools of ${printable(server)}`),
    ...removed.map((name) => `  ${paint('red', `- ${printable(name)}`)}`),
    ...added.map((name) => `  ${paint('green', `+ ${printable(name)}`)}`),
    ...changed.flatMap(({ name, fields }) =>
      fields.flatMap((field) =>
        fieldLines({ ...field, path: field.path === '' ? name : `${name} ${field.path}` }, look),
      ),
    ),
  ]
}

/** The history that two runs share by descent, however many forks ago. */
export function sharedDescent(a: Tape, b: Tape): SharedPart | undefined {
  if (a.run.id === b.run.id) return undefined
  const others = new Map(lineageOf(b).map(({ run, events }) => [run, events]))
  const [nearest] = lineageOf(a)
    .map(({ run, events }) => ({ run, events: Math.min(events, others.get(run) ?? 0) }))
    .filter(({ events }) => events > 0)
    .toSorted((one, other) => other.events - one.events)
  return nearest
}

/** A run and its ancestors, with the number of events it has from each. */
function lineageOf(tape: Tape): SharedPart[] {
  const lineage: SharedPart[] = [{ run: tape.run.id, events: tape.count }]
  let { parent } = tape.run
  let events = tape.count
  while (parent !== undefined) {
    events = Math.min(events, parent.seq)
    lineage.push({ run: parent.run, events })
    const file = path.join(path.dirname(tape.path), `${parent.run}.tape`)
    parent = openTape(file).run.parent
  }
  return lineage
}
