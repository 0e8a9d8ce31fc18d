import { IN_FULL, type LineHit, type Probe, type WatchedLine } from '@retake/engine/inspect'
import type { RunView, Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { warnOfChangedSources } from '../agent/changed-sources.js'
import { checkExpression } from '../debug/step-commands.js'
import { wrongUsage } from '../errors/command-line.js'
import { lineNeverRan, sourceFileMissing } from '../errors/inspect.js'
import { fromHere, painter, printable, printJson } from '../terminal/terminal.js'
import { checkEnd, explainingDivergence } from '../debug/look-at-step.js'
import { RunStore } from '../runs/run-store.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { flag, text, texts, type Verb } from '../command-line/verb.js'
import { viewRun } from '../runs/view-run.js'
import { withProbe } from '../debug/probe-agent.js'
import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'

export const evaluate: Verb = {
  usage: "<run> --at file:line '<expression>'",
  help: `Runs the recorded program again, offline, and evaluates the expression
whenever the line is about to run, as if a log line had stood there. The run is
not disturbed: an expression that would change something fails instead, with its
error printed for that time.

Options:
  --at <file:line>      where; the file as seen from the folder of the recording
  --allow-side-effects  let the expression change things; the replay may diverge
  --node-arg=<flag>     a flag for Node itself; may be repeated
  --trust               also start the program of a run from elsewhere
  --dir <folder>        where the tapes are (default: .retake/runs)
  --json                one JSON object a line: hit, step, seq, value

Examples:
  retake eval last --at src/agent.ts:42 'messages.length'
  retake eval last --at agent.ts:17 '{ city, price }' --json | jq .value.json`,
  options: {
    ...TRUST_OPTION,
    at: { type: 'string' },
    'allow-side-effects': { type: 'boolean' },
    dir: { type: 'string' },
    'node-arg': { type: 'string', multiple: true },
  },
  async run(values, [name, expression, ...rest]) {
    const at = text(values, 'at')
    if (name === undefined || expression === undefined || at === undefined || rest.length > 0) {
      const why = "For example: retake eval last --at src/agent.ts:42 'messages.length'."
      throw wrongUsage('eval', 'Name one run, a line and one expression.', why)
    }
    const json = flag(values, 'json')
    const checked = checkExpression(expression)
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    const line = findSourceLine(at, tape.details.cwd)
    warnOfChangedSources(tape)
    const print = printer(tape, json)
    return explainingDivergence(tape, json, async () => {
      const watch = (known?: WatchedLine['known']): Promise<WatchedLine> =>
        watchLine(tape, texts(values, 'node-arg'), {
          ...line,
          expression: checked,
          allowSideEffects: flag(values, 'allow-side-effects'),
          limits: json ? IN_FULL : undefined,
          onHit: print,
          ...(known && { known }),
        })
      let watched = await watch()
      if (watched.hits === 0 && watched.known) watched = await watch(watched.known)
      checkEnd(watched.end)
      if (watched.hits === 0) throw neverRan(line, watched)
      return 0
    })
  },
}

type WatchOptions = Parameters<Probe['watchLine']>[0]

function watchLine(
  tape: Tape,
  nodeArgs: readonly string[],
  options: Omit<WatchOptions, 'limits'> & { limits: WatchOptions['limits'] | undefined },
): Promise<WatchedLine> {
  const { limits, ...rest } = options
  return withProbe(tape, { nodeArgs }, (probe) =>
    probe.watchLine({ ...rest, ...(limits && { limits }) }),
  )
}

/** One line a hit, as soon as it is known. */
function printer(tape: Tape, json: boolean): (hit: LineHit) => void {
  const stepBy = latestStep(viewRun(tape))
  const paint = painter(process.stdout)
  return ({ hit, position, location, evaluation }) => {
    const seq = position - 1
    const step = stepBy(seq)?.label
    if (json) printJson({ hit, step, seq, location, ...evaluation })
    else {
      const shown = evaluation.ok
        ? evaluation.value.text
        : paint('red', explained(evaluation.message))
      const when = step === undefined ? `event ${seq}` : `step ${step}`
      console.log(`${paint('dim', `${hit} · ${when}`)}  ${printable(shown)}`)
    }
  }
}

/** V8 says that something was refused, not what to do about it. */
const explained = (message: string): string =>
  message.includes('Possible side-effect') ? `${message}; --allow-side-effects lets it` : message

function neverRan({ file, line }: SourceLine, watched: WatchedLine): Error {
  const { wasLoaded, nextLineWithCode } = watched
  const why = !wasLoaded
    ? 'The program did not load this file.'
    : nextLineWithCode === undefined
      ? 'The program loaded the file, but did not come to this line. Code inside tool() does not run on replay.'
      : `No code begins on it; the next line with code is ${nextLineWithCode}.`
  return lineNeverRan(fromHere(file), line, why)
}

interface SourceLine {
  /** Real, absolute path. */
  readonly file: string
  readonly line: number
}

/** Reads `src/agent.ts:42`, seen from the folder of the recording or from here. */
function findSourceLine(text: string, recordedIn: string | undefined): SourceLine {
  const match = /^(.+?):(\d+)(?::\d+)?$/.exec(text)
  const line = Number(match?.[2])
  if (match?.[1] === undefined || line < 1)
    throw wrongUsage(
      'eval',
      `"${text}" names no line.`,
      'Write file:line, for example src/agent.ts:42.',
    )
  const name = match[1]
  const folders = [...new Set([recordedIn ?? process.cwd(), process.cwd()])]
  const file = folders
    .map((folder) => path.resolve(folder, name))
    .find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile())
  if (file === undefined) throw sourceFileMissing(name, folders)
  return { file: realpathSync(file), line }
}

/** For an event: the step that was started or answered last by then, itself included. */
function latestStep(view: RunView): (seq: number) => Step | undefined {
  const marks = view.recordedSteps
    .flatMap((step) => [step.seq, ...step.answerSeqs].map((seq) => ({ seq, step })))
    .toSorted((a, b) => a.seq - b.seq)
  return (seq) => {
    let low = 0
    let high = marks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((marks[middle]?.seq ?? Infinity) <= seq) low = middle + 1
      else high = middle
    }
    return marks[low - 1]?.step
  }
}
