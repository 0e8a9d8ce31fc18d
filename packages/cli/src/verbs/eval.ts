import { usageError, type Verb, NODE_PROGRAM_OPTIONS } from '../command-line/verb.js'
import { IN_FULL, type LineHit, type WatchedLine } from '@retake/engine/inspect'
import type { RunView, Step, Tape } from '@retake/tape'
import { warnOfChangedSources } from '../agent/source-code.js'
import { checkExpression } from '../debug/step-prompt.js'
import { cliErrors } from '../errors.js'
import { fromHere, painter, printable, printJson } from '../terminal/terminal.js'
import { checkEnd, explainingDivergence, withProbe } from '../debug/probe-agent.js'
import { viewRun } from '../runs/view-run.js'
import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'

export default {
  arguments: '<run> <expression>',
  description: `Replays the program, offline, and evaluates the expression each time the line is about to
run, like a log statement added afterwards. The run is not affected: an expression with side
effects fails, and its error is printed for that hit.`,
  options: {
    '--at <file:line>': 'the line; the file is relative to the folder of the recording (required)',
    '--allow-side-effects': 'let the expression change things; the replay may diverge',
    ...NODE_PROGRAM_OPTIONS,
    '--json': 'print one JSON object per hit: hit, step, seq, value',
  },
  examples: [
    `retake eval last --at src/agent.ts:42 'messages.length'`,
    `retake eval last --at agent.ts:17 '{ city, price }' --json | jq .value.json`,
  ],
  async run(options, [name = '', expression = '']) {
    const at = options.text('at') ?? ''
    const json = options.json
    const checked = checkExpression(expression)
    const tape = options.openRun(name)
    const line = findSourceLine(at, tape.details.cwd)
    warnOfChangedSources(tape)
    const print = printer(tape, json)
    return explainingDivergence(tape, json, async () => {
      const watch = (known?: WatchedLine['known']): Promise<WatchedLine> =>
        withProbe(tape, { nodeArgs: options.texts('node-arg') }, (probe) =>
          probe.watchLine({
            ...line,
            expression: checked,
            allowSideEffects: options.flag('allow-side-effects'),
            onHit: print,
            ...(json && { limits: IN_FULL }),
            ...(known && { known }),
          }),
        )
      let watched = await watch()
      if (watched.hits === 0 && watched.known) watched = await watch(watched.known)
      checkEnd(watched.end)
      if (watched.hits === 0) throw neverRan(line, watched)
      return 0
    })
  },
} satisfies Verb

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

function neverRan({ file, line }: ReturnType<typeof findSourceLine>, watched: WatchedLine): Error {
  const { wasLoaded, nextLineWithCode } = watched
  const why = !wasLoaded
    ? 'The program did not load this file.'
    : nextLineWithCode === undefined
      ? 'The program loaded the file, but did not reach this line. Code inside tool() does not run on replay.'
      : `No code begins on it; the next line with code is ${nextLineWithCode}.`
  return cliErrors.LINE_NEVER_RAN(fromHere(file), line, why)
}

/** Reads `src/agent.ts:42`, seen from the folder of the recording or from here. */
function findSourceLine(text: string, recordedIn: string | undefined) {
  const match = /^(.+?):(\d+)(?::\d+)?$/.exec(text)
  const line = Number(match?.[2])
  if (match?.[1] === undefined || line < 1)
    throw usageError(`"${text}" is not a line.`, 'Write file:line, for example src/agent.ts:42.')
  const name = match[1]
  const folders = [...new Set([recordedIn ?? process.cwd(), process.cwd()])]
  const file = folders
    .map((folder) => path.resolve(folder, name))
    .find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile())
  if (file === undefined) throw cliErrors.SOURCE_FILE_MISSING(name, folders)
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
