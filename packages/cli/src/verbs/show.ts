import { shellWord } from '@retake/runner/agent'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { childTapePath } from '@retake/engine/runs'
import { openIntactTape } from '@retake/tape/node'
import { FOUND } from '@retake/runner/command-line'
import { DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import {
  cutTo,
  cutWidthOf,
  type Look,
  type Paint,
  plainText,
  plainValue,
  printable,
  printableLine,
  tableLines,
  TONE_STYLES,
  wrapFacts,
  linesOf,
} from '@retake/runner/terminal'
import {
  errorName,
  type RecordedError,
  type CapturedState,
  type CodeLocation,
  type ImportDetails,
  originOf,
  type OutputEvent,
  plainJson,
  type RunView,
  type StateChanges,
  stateDifference,
  type Step,
  summarizeStep,
  type Tape,
} from '@retake/tape'
import { branchFacts, branchLines, stepBranchLines } from '@retake/runner/runs'
import { checkTape, inputText, statusOf } from '@retake/runner/runs'
import { tagsOf } from '@retake/runner/runs'
import { cliErrors } from '@retake/runner/errors'
import { findStep, viewRun } from '@retake/runner/runs'
import { readStates } from '@retake/runner/debug'
import { stateWord, stepJson, stepLines } from '@retake/runner/runs'
import { printDescribed } from '@retake/engine/inspect'
import {
  ORIGIN_WORDS,
  STATE_WORDS,
  STEP_CELLS,
  costText,
  countCalls,
  countSteps,
  duration,
  localTime,
  plural,
  rowOf,
  runEnd,
  stepCountsText,
  tokensText,
  type StepRow,
} from '@retake/tape/present'
import {
  locationText,
  recordedLines,
  sourceExcerpt,
  sourceLine,
  variableLines,
} from '@retake/runner/debug'
import { notCapturedDetail } from '@retake/runner/agent'

/** Columns dropped on a narrow terminal, in this order. */
const SPARE = ['at', 'took'] as const
const TITLE_MIN = 32

function runLines(view: RunView, tape: Tape, { paint, width }: Look): string[] {
  const columns = [
    'label',
    'at',
    'took',
    ...(view.lanes.length > 1 ? (['lane'] as const) : []),
    ...(tape.details.branch === undefined ? [] : (['origin'] as const)),
    'kind',
    ...(view.steps.some((step) => step.within.length > 0) ? (['within'] as const) : []),
    'title',
  ] as const
  const status = statusOf(view, tape)
  const rows = view.steps.map((step) => {
    const row = rowOf(tape, step, { status, laneOf: ({ lane }) => lane })
    return columns.map((column) => cellOf(column, { row, step, paint }))
  })
  const header = columns.map((column) => paint('dim', STEP_CELLS[column].heading))
  const spare = SPARE.map((column) => columns.indexOf(column))
  return [
    ...headLines(view, tape, { paint, width }),
    '',
    ...(rows.length === 0 ? ['No steps.'] : tableLines([header, ...rows], width, spare, TITLE_MIN)),
    ...childLines(view, tape, width),
    ...endLines(view, { paint, width }),
    ...(view.notCaptured.length === 0 ? [] : ['', 'Not captured:']),
    ...view.notCaptured.flatMap((each) => notCapturedDetail(each, width)),
  ]
}

interface RecordedChild {
  /** Label of the step that started it. */
  readonly step: string
  readonly id: string
  readonly path: string
  readonly command: string
}

const childrenOf = (view: RunView, tape: Tape): RecordedChild[] =>
  view.recordedSteps
    .filter(({ kind }) => kind === 'process')
    .map(({ label, seq, title }) => {
      const file = childTapePath(tape.path, seq)
      return { step: label, id: path.basename(file, '.tape'), path: file, command: title }
    })
    .filter((child) => existsSync(child.path))

function childLines(view: RunView, tape: Tape, width: number): string[] {
  const children = childrenOf(view, tape)
  if (children.length === 0) return []
  const rows = children.map(({ step, id, command }) => [
    `  step ${step}`,
    `retake show ${id}`,
    printableLine(command),
  ])
  return ['', 'Recorded processes:', ...tableLines(rows, width)]
}

/** Width of the path of agents and nodes. Its end distinguishes steps. */
const PATH_WIDTH = 28

function cellOf(
  column: keyof typeof STEP_CELLS,
  { row, step, paint }: { row: StepRow; step: Step; paint: Paint },
): string {
  const text = printable(STEP_CELLS[column].text(row) ?? '')
  if (column === 'origin') return paint(TONE_STYLES[ORIGIN_WORDS[row.origin].tone], text)
  if (column === 'kind' && (row.state === 'failed' || row.state === 'denied'))
    return paint(TONE_STYLES[STATE_WORDS[row.state].tone], text)
  if (column === 'within' && text.length > PATH_WIDTH) return `…${text.slice(1 - PATH_WIDTH)}`
  if (column !== 'title') return text
  const isServed = step.guard?.served !== undefined
  const state = step.state !== 'done' ? `${stateWord(step)}: ` : isServed ? 'served: ' : ''
  return printable(state) + text
}

function headLines(view: RunView, tape: Tape, { paint, width }: Look): string[] {
  const { totals } = view
  const { integrity, detail, digest } = checkTape(tape)
  const events = Object.values(view.counts).reduce((sum, count) => sum + count, 0)
  const status = statusOf(view, tape)
  const reason = runEnd({ status, exit: view.exit })
  return linesOf(
    `${paint('bold', view.id)}  ${printableLine(view.name)}`,
    ...branchLines(tape, width),
    ...startLines(tape, width),
    ...wrapFacts(
      [
        reason === undefined ? status : `${status}: ${printable(reason)}`,
        localTime(view.startedAt),
        duration(view.durationMs),
        ...(tape.details.imported === undefined ? [`Node ${view.node.slice(1)}`] : []),
        ...(tape.run.durability === 'process' && tape.details.imported === undefined
          ? ['durability process']
          : []),
      ].join(' · '),
      width,
    ),
    [
      stepCountsText(countSteps(view)),
      plural(totals.modelCalls, 'model call'),
      plural(totals.toolCalls, 'tool call'),
      plural(events, 'event'),
    ].join(' · '),
    totals.modelCalls > 0 && `${tokensText(totals, countCalls(view.steps))} · ${costText(totals)}`,
    cutTo(`digest ${digest}`, width),
    integrity !== 'intact' &&
      integrity !== 'recording' &&
      (integrity === 'damaged'
        ? damageLine(tape, { paint })
        : `${paint('red', integrity)}: ${printableLine(detail)}`),
  )
}

function startLines(tape: Tape, width: number): string[] {
  const { input, cwd, startedBy, imported, entry, args = [] } = tape.details
  const { tags = [], note } = tagsOf(tape.path, tape.details)
  const command = tape.details.command ?? (entry === undefined ? undefined : [entry, ...args])
  return [
    ...(imported === undefined ? [] : [importLine(imported)]),
    ...(command === undefined ? [] : [`started as ${command.map(shellWord).join(' ')}`]),
    ...(startedBy === undefined ? [] : [`started by run ${startedBy.run}, event ${startedBy.seq}`]),
    ...(cwd === undefined ? [] : [`in ${cwd}`]),
    ...(input === undefined ? [] : [`input ${inputText(input)}`]),
    ...(tags.length === 0 ? [] : [`tags ${tags.join(', ')}`]),
    ...(note === undefined ? [] : [`note ${note}`]),
  ].map((line) => cutTo(printableLine(line), width))
}

function importLine({ from, source, spans, problems = {} }: ImportDetails): string {
  const whence = source === undefined ? from : `${from}, ${source}`
  const wrong = Object.entries(problems).map(([why, count]) => ` · ${count} ${why}`)
  return `imported from ${whence}: ${plural(spans, 'span')}, not replayable${wrong.join('')}`
}

/** Number of lines shown of output and of a stack; `--json` has more. */
const OUTPUT_LINES = 10
const STACK_LINES = 8

/** Node writes the name that an error has when it is made, which is often only `Error`. */
function stackText(error: RecordedError): string {
  const { name, message, stack = `${name}: ${message}` } = error
  return stack.startsWith(`${name}: `) ? errorName(error) + stack.slice(name.length) : stack
}

function endLines(view: RunView, { paint, width }: Look): string[] {
  const output = outputOf(view, ['stdout', 'stderr']).trimEnd()
  const lines = output === '' ? [] : output.split('\n')
  const more = lines.length - OUTPUT_LINES
  const result = view.result()
  const error = view.exit?.error
  const stack = error && stackText(error)
  const shown = (line: string): string => `  ${cutTo(printableLine(line), width - 2)}`
  return linesOf(
    lines.length > 0 && [
      '',
      more > 0 ? `Output, the last ${OUTPUT_LINES} of ${plural(lines.length, 'line')}:` : 'Output:',
    ],
    ...lines.slice(-OUTPUT_LINES).map(shown),
    result !== undefined && ['', 'Result:', shown(plainText(result))],
    stack !== undefined && ['', paint('red', 'Error:')],
    ...(stack?.split('\n').slice(0, STACK_LINES).map(shown) ?? []),
  )
}

/** Maximum number of output bytes read, because programs may print endlessly. */
const OUTPUT_MAX = 64 << 10

/** The end of a run's output on these streams. */
function outputOf(view: RunView, streams: readonly OutputEvent['stream'][]): string {
  const parts: Uint8Array[] = []
  let bytes = 0
  for (const event of view.outputs.toReversed()) {
    if (!streams.includes(event.stream)) continue
    if (bytes > OUTPUT_MAX) break
    const part = view.outputBytes(event)
    bytes += part.length
    parts.unshift(part)
  }
  return Buffer.concat(parts).subarray(-OUTPUT_MAX).toString()
}

/** More changes are only counted. `--json` has all of them. */
const CHANGES_MAX = 40

function stateLines(
  tape: Tape,
  state: CapturedState,
  since: StateChanges | undefined,
  look: Look,
): string[] {
  const { paint } = look
  const { location, frames, asyncFrames } = state
  return [
    '',
    paint('bold', 'state'),
    ...(location
      ? [paint('cyan', locationText(location)), ...excerptThen(tape, location, state.source, look)]
      : ['no code of yours was on the stack']),
    ...frames.flatMap(({ name, location: at, variables }) => [
      '',
      `${paint('bold', name === '' ? '(top level)' : name)}  ${locationText(at)}`,
      ...variableLines(variables, look),
    ]),
    ...asyncFrames.map(
      ({ name, location: at }) => `async ${name || '(top level)'}  ${locationText(at)}`,
    ),
    ...(since ? ['', ...changeLines(since, look)] : []),
  ]
}

/** The source at the time of the capture; only the line if the file has changed and was not kept. */
function excerptThen(
  tape: Tape,
  location: CodeLocation,
  source: string | undefined,
  look: Look,
): string[] {
  const recorded = recordedLines(tape, location.file)
  if (recorded !== undefined && recorded[location.line - 1] === source)
    return [
      look.paint('yellow', 'the file has changed since; showing the recorded code'),
      ...sourceExcerpt(location, look, recorded),
    ]
  if (source === undefined || source === sourceLine(location)) return sourceExcerpt(location, look)
  return [
    look.paint('yellow', 'the file has changed since this was captured; the line was'),
    cutTo(`> ${location.line}  ${printable(source)}`, look.width),
  ]
}

function changeLines({ step, changes }: StateChanges, { paint, width }: Look): string[] {
  if (changes.length === 0) return [`nothing changed since step ${step}`]
  const value = (json: unknown): string => printable(printDescribed(json, width - 6))
  const more = changes.length - CHANGES_MAX
  return [
    paint('bold', `changed since step ${step}`),
    ...changes
      .slice(0, CHANGES_MAX)
      .flatMap((change) => [
        `  ${printable(change.path)}`,
        ...('before' in change ? [paint('red', `  - ${value(change.before)}`)] : []),
        ...('after' in change ? [paint('green', `  + ${value(change.after)}`)] : []),
      ]),
    ...(more > 0 ? [`  and ${more} more; --json has all of them`] : []),
  ]
}

export default {
  arguments: '<run>',
  description: `Of a damaged tape, shows the part before the damage, says what is wrong, and exits
with 3.`,
  options: {
    '--step <N>': 'show one step in full: messages, request and answer, result',
    '--state':
      "with --step: also show the program's state, and what changed since the step before; capture it with `retake debug snapshot`",
    ...DIR_OPTION,
  },
  examples: [
    'retake show last',
    'retake show last --step 3',
    'retake show last --step 3 --state',
    `retake show last --json | jq '.steps[] | select(.kind == "model") | .usage'`,
  ],
  run(options, [name = '']) {
    const tape = openIntactTape(options.store.find(name))
    const view = viewRun(tape)
    const label = options.text('step')
    const step = label === undefined ? undefined : findStep(view, label)
    if (options.flag('state') && step === undefined)
      throw usageError('--state needs --step.', 'State is captured at steps.')
    const found = step && options.flag('state') ? stateAt(tape, step) : undefined
    const json = step
      ? { ...(stepJson(step) as object), ...originJson(tape, step), ...found }
      : runJson(view, tape)
    options.print(
      json,
      (look) => [
        step !== undefined && tape.damage !== undefined && damageLine(tape, look),
        ...(step
          ? stepLines(step, look, stepBranchLines(tape, step, look.width))
          : runLines(view, tape, { ...look, width: cutWidthOf(process.stdout) })),
        ...(found ? stateLines(tape, found.state, found.since, look) : []),
      ],
      2,
    )
    return tape.damage === undefined ? 0 : FOUND
  },
} satisfies Verb

/** The one warning about a damaged tape. */
function damageLine(tape: Tape, { paint }: Pick<Look, 'paint'>): string {
  const shown = `only the ${plural(tape.count, 'event')} before it are shown`
  return `${paint('red', 'damaged')}: ${printableLine(checkTape(tape).detail)}; ${shown}`
}

function originJson(tape: Tape, step: Step): object {
  const origin = originOf(tape, step)
  return origin === undefined ? {} : { origin }
}

/** The captured state of a step, and its changes since the previously captured step. */
function stateAt(tape: Tape, step: Step): { state: CapturedState; since?: StateChanges } {
  const states = readStates(tape)
  if (states === undefined) throw cliErrors.NO_STATE(tape.run.id, undefined)
  const index = states.findIndex((state) => state.step === step.label)
  const state = states[index]
  if (state === undefined) throw cliErrors.NO_STATE(tape.run.id, step.label)
  const before = states[index - 1]
  if (before === undefined) return { state }
  return { state, since: { step: before.step, changes: stateDifference(before, state) } }
}

function runJson(view: RunView, tape: Tape): unknown {
  const { id, name, startedAt, durationMs, exit, node, counts, totals, notCaptured } = view
  const status = statusOf(view, tape)
  const { integrity, digest } = checkTape(tape)
  const steps = view.steps.map((step) => ({ ...summarizeStep(step), ...originJson(tape, step) }))
  const { entry, args, command, cwd, input } = tape.details
  const result = view.result()
  const children = childrenOf(view, tape)
  return {
    id,
    path: tape.path,
    name,
    ...tagsOf(tape.path, tape.details),
    start: { entry, args, command, cwd },
    ...(input !== undefined && { input: plainJson(input) }),
    /** The last part of each stream. */
    output: { stdout: outputOf(view, ['stdout']), stderr: outputOf(view, ['stderr']) },
    ...(result !== undefined && { result: plainValue(result) }),
    durability: tape.run.durability ?? 'machine',
    ...(tape.run.parent && { parent: tape.run.parent }),
    ...(tape.details.branch && { branch: tape.details.branch, facts: branchFacts(tape, view) }),
    startedAt,
    durationMs,
    status,
    integrity,
    ...(tape.damage && { damage: { event: tape.damage.seq, why: tape.damage.why } }),
    digest,
    exit,
    node,
    counts,
    totals,
    steps,
    ...(children.length > 0 && { children }),
    notCaptured,
  }
}
