import { originOf } from '@retake/tape'
import type { NotCaptured, RunView, Step, Tape } from '@retake/tape'
import { branchLines } from './branch-lines.js'
import { checkTape } from './check-tape.js'
import { duration } from './duration.js'
import { cost, localTime, plural } from './facts.js'
import { notCapturedDetail } from './not-captured.js'
import { printable, printableLine } from './printable.js'
import { statusOf } from './run-summary.js'
import { placePath, stateWord } from './step-lines.js'
import { table } from './table.js'
import type { Look, Paint } from './terminal.js'

/** When a step began, then how long it took: what a narrow terminal leaves out. */
const SPARE = [1, 2]

/** A run for a person: what it was, its steps, and what was not captured. */
export function runLines(view: RunView, tape: Tape, { paint, width }: Look): string[] {
  const columns = {
    lanes: view.lanes.length > 1,
    origins: tape.details.branch !== undefined,
    places: view.steps.some((step) => step.within.length > 0),
  }
  const rows = view.steps.map((step) => stepRow(step, tape, columns, paint))
  const header = [
    'step',
    'at',
    'took',
    ...(columns.lanes ? ['lane'] : []),
    ...(columns.origins ? ['origin'] : []),
    'kind',
    ...(columns.places ? ['in'] : []),
    '',
  ].map((cell) => paint('dim', cell))
  return [
    ...headLines(view, tape, { paint, width }),
    '',
    ...(rows.length === 0 ? ['No steps.'] : table([header, ...rows], width, SPARE)),
    ...notCapturedSection(view.notCaptured, { paint, width }),
  ]
}

function headLines(view: RunView, tape: Tape, { paint, width }: Look): string[] {
  const { totals } = view
  return [
    `${paint('bold', view.id)}  ${printableLine(view.name)}`,
    ...branchLines(tape, width),
    [
      endOf(view, tape),
      localTime(view.startedAt),
      duration(view.durationMs),
      `Node ${view.node.slice(1)}`,
    ].join(' · '),
    [
      plural(totals.modelCalls, 'model call'),
      plural(totals.toolCalls, 'tool call'),
      plural(
        Object.values(view.counts).reduce((sum, count) => sum + count, 0),
        'event',
      ),
    ].join(' · '),
    ...(totals.modelCalls > 0 ? [`${tokensOf(view)} · ${costOf(view)}`] : []),
    ...integrityLines(tape, paint),
  ]
}

function integrityLines(tape: Tape, paint: Paint): string[] {
  const { integrity, detail, digest } = checkTape(tape)
  const isFine = integrity === 'intact' || integrity === 'recording'
  return [
    `digest ${digest}`,
    ...(isFine ? [] : [`${paint('red', integrity)}: ${printableLine(detail)}`]),
  ]
}

/** A stream may end without counts: then they are not known, and not 0. */
export function tokensOf({ steps, totals: { usage } }: Pick<RunView, 'steps' | 'totals'>): string {
  const answered = steps.filter(({ kind, state }) => kind === 'model' && state !== 'failed')
  const counted = answered.filter((step) => step.usage !== undefined).length
  if (answered.length > 0 && counted === 0) return 'tokens unknown'
  const sum = `${usage.input + usage.cachedInput + usage.cacheWrite} tokens in, ${usage.output} out`
  return counted < answered.length ? `${sum} in ${counted} of ${answered.length} calls` : sum
}

const costOf = ({ totals }: RunView): string =>
  totals.costUsd === undefined ? 'cost unknown' : cost(totals.costUsd)

function endOf(view: RunView, tape: Tape): string {
  const status = statusOf(view, tape)
  const { exit } = view
  if (exit?.error !== undefined)
    return `${status}: ${printable(`${exit.error.name}: ${exit.error.message.split('\n')[0]}`)}`
  if (exit?.signal !== undefined) return `${status} by ${exit.signal}`
  if (exit === undefined && status === 'killed') return 'killed, the recording was cut off'
  return exit?.code ? `${status} with exit code ${exit.code}` : status
}

interface Columns {
  readonly lanes: boolean
  /** Whether answers may have come from a parent. */
  readonly origins: boolean
  /** Whether an adapter has named agents and nodes. */
  readonly places: boolean
}

const ORIGIN_STYLES = { served: 'dim', edited: 'cyan', lost: 'yellow', live: 'green' } as const

function originCell(tape: Tape, step: Step, paint: Paint): string {
  const origin = originOf(tape, step)
  return origin === undefined ? '' : paint(ORIGIN_STYLES[origin], origin)
}

const PLACE_WIDTH = 28

/** The end of the path is what tells steps apart. */
function placeCell(step: Step): string {
  const path = placePath(step)
  return path.length > PLACE_WIDTH ? `…${path.slice(1 - PLACE_WIDTH)}` : path
}

function stepRow(step: Step, tape: Tape, columns: Columns, paint: Paint): string[] {
  const isServed = step.guard?.served !== undefined
  const state = step.state !== 'done' ? `${stateWord(step)}: ` : isServed ? 'served: ' : ''
  const bad = step.state === 'failed' ? 'red' : step.state === 'denied' ? 'yellow' : undefined
  const marked = bad === undefined ? step.kind : paint(bad, step.kind)
  return [
    step.label,
    duration(step.at),
    step.latencyMs === undefined || step.inferred ? '' : duration(step.latencyMs),
    ...(columns.lanes ? [String(step.lane)] : []),
    ...(columns.origins ? [originCell(tape, step, paint)] : []),
    marked,
    ...(columns.places ? [placeCell(step)] : []),
    printable(state + step.title),
  ]
}

function notCapturedSection(list: readonly NotCaptured[], { width }: Look): string[] {
  if (list.length === 0) return []
  return ['', 'Not captured:', ...list.flatMap((each) => notCapturedDetail(each, width))]
}
