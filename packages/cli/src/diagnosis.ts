import { clipText, type NotCaptured, type Tape } from '@retake/tape'
import { plural } from './facts.js'
import { fromHere } from './from-here.js'
import { notCapturedDetail } from './not-captured.js'
import type { Source } from './nondeterminism.js'
import { printable } from './printable.js'
import type { Recording } from './record-agent.js'
import type { Replayed } from './replay-agent.js'
import { replayReceipt } from './replay-receipt.js'
import { table } from './table.js'
import type { Look } from './terminal.js'

const NOTHING_CHANGED = ['The code is the same, so something is not captured: see above.']

/** What `retake doctor` found out about an agent. */
export interface Diagnosis {
  readonly first: Recording
  /** What the first run said on stderr, if it failed. */
  readonly complaint: string
  readonly tape: Tape
  readonly sources: readonly Source[]
  readonly notCaptured: readonly NotCaptured[]
  readonly replayed: Replayed
}

export function diagnosisJson({ sources, notCaptured, replayed }: Diagnosis): string {
  const identical = replayed.divergences.length === 0
  return JSON.stringify({ captured: sources, notCaptured, identical, replayed }, undefined, 2)
}

/** How often, then whether it changes: what a narrow terminal leaves out. */
const SPARE = [1, 2]

export function diagnosisLines(
  { first, complaint, tape, sources, notCaptured, replayed }: Diagnosis,
  look: Look,
): string[] {
  const { paint, width } = look
  const rows = sources.map(({ name, count, changed, sites }) => [
    clipText(name, 28),
    String(count),
    changed ? 'yes' : 'no',
    where(sites),
  ])
  const header = ['source', 'times', 'changes', 'where'].map((cell) => paint('dim', cell))
  return [
    ...(first.code === 0
      ? []
      : [
          `${paint('yellow', 'note')} the agent ended with exit code ${first.code}`,
          ...lastLines(complaint, 12).map((line) => `  ${printable(line)}`),
          '',
        ]),
    `${paint('green', 'captured')}: on replay the agent gets the recorded value`,
    ...(rows.length === 0
      ? ['  nothing: the agent touches nothing outside']
      : table([header, ...rows], width - 2, SPARE).map((line) => `  ${line}`)),
    '',
    ...(notCaptured.length === 0
      ? [`${paint('green', 'not captured')}: nothing found`]
      : [
          `${paint('red', 'not captured')}: ${plural(notCaptured.length, 'finding')}`,
          ...notCaptured.flatMap((each) => notCapturedDetail(each, width)),
        ]),
    '',
    'replay of the first run',
    ...replayReceipt(tape, replayed, { paint, width: width - 2 }, NOTHING_CHANGED).map((line) =>
      line === '' ? '' : `  ${line}`,
    ),
  ]
}

/** The most frequent place, as `file:line`, and how many others there are. */
function where(sites: readonly string[]): string {
  const places = [...new Set(sites.map((site) => fromHere(site).replace(/:\d+$/, '')))]
  const [first, ...others] = places
  if (first === undefined) return ''
  // The line is what matters: long paths lose their start.
  const shown = first.length > PLACE_MAX ? `…${first.slice(1 - PLACE_MAX)}` : first
  return shown + (others.length > 0 ? ` +${others.length}` : '')
}

const PLACE_MAX = 26

/** The end of a text, which is where a failure says why. */
function lastLines(text: string, count: number): string[] {
  const lines = text.trimEnd().split('\n')
  const kept = lines.slice(-count)
  if (kept.length === lines.length) return text.trim() === '' ? [] : kept
  return ['…', ...kept]
}
