import { cutTo, type Look, lookOf, printable, printJson } from '../terminal/terminal.js'
import type { Step, Tape } from '@retake/tape'
import { Interrupted } from '../agent/agent-process.js'
import { warnOfChangedSources } from '../agent/changed-sources.js'
import { checkEnd, explainingDivergence, lookAtStep } from './look-at-step.js'
import { findStep, viewRun } from '../runs/view-run.js'
import { stopJson, stopLines } from './stop-lines.js'
import { withProbe } from './probe-agent.js'
import type { Probe } from '@retake/engine/inspect'
import { cliErrors } from '../errors.js'

/** Opens the inspector of a stopped replay; answers with its address. */
async function openInspector(probe: Probe, port: number): Promise<URL> {
  const url = await probe.openInspector(port)
  if (!url) throw cliErrors.INSPECTOR_NOT_OPENED(port)
  return new URL(url)
}

/** What to do to look at the held process with a debugger. */
function inspectorLines(url: URL, cwd: string): string[] {
  const configuration = {
    type: 'node',
    request: 'attach',
    name: 'Retake',
    address: url.hostname,
    port: Number(url.port),
    cwd,
    skipFiles: ['<node_internals>/**', '**/node_modules/**'],
  }
  return [
    `The program is held there. Debugger: ${url.href}`,
    '',
    `Chrome   open chrome://inspect, choose Configure…, add ${url.host}, then inspect`,
    'VS Code  put this into configurations of .vscode/launch.json, then Run > Start Debugging:',
    ...JSON.stringify(configuration, undefined, 2)
      .split('\n')
      .map((line) => `         ${line}`),
    '',
    'It runs on to its end when the debugger resumes it; Ctrl-C ends it.',
  ]
}

export interface ReplayToStepOptions {
  readonly step: string
  /** The port to open the inspector at; 0 is any free one. */
  readonly port: number | undefined
  readonly json: boolean
  readonly nodeArgs: readonly string[]
}

/** Runs the recorded program to the moment a step was answered and shows, or holds, it there. */
export async function replayToStep(tape: Tape, asked: ReplayToStepOptions): Promise<number> {
  const { json, port, nodeArgs } = asked
  const view = viewRun(tape)
  const step = findStep(view, asked.step)
  warnOfChangedSources(tape)
  const output = {
    stdout: json ? process.stderr : 'inherit',
    stderr: 'inherit',
  } as const
  const options = { nodeArgs, ...(port !== undefined && { output }) }
  return withProbe(tape, options, (probe, interruption) =>
    explainingDivergence(tape, json, async () => {
      const stop = await lookAtStep(probe, view, step)
      const look = lookOf(process.stdout)
      const url = port === undefined ? undefined : await openInspector(probe, port)
      if (json) printJson(jsonOf(tape, step, stop, url), 2)
      else {
        const notes = stop.isDirect ? [] : ['no code of yours ran for it alone; the next that ran:']
        console.log([headOf(step, look), ...notes, ...stopLines(stop, look)].join('\n'))
      }
      if (url === undefined) return 0
      process.stderr.write(`\n${inspectorLines(url, tape.details.cwd ?? '.').join('\n')}\n`)
      const end = await probe.waitForEnd()
      if (interruption.signal) throw new Interrupted(interruption.signal)
      checkEnd(end)
      return end.exitCode
    }),
  )
}

const headOf = (step: Step, { paint, width }: Look): string => {
  const when = step.answerSeqs.length > 0 ? 'its answer has arrived' : 'it has no answer'
  const label = `step ${step.label}`
  const left = width - `${label}   · ${when}`.length
  return `${paint('bold', label)}  ${cutTo(printable(step.title), left)} · ${when}`
}

const jsonOf = (
  tape: Tape,
  step: Step,
  stop: Parameters<typeof stopJson>[0],
  url: URL | undefined,
): unknown => ({
  run: tape.run.id,
  step: step.label,
  title: step.title,
  seq: stop.seq,
  ...(stopJson(stop) as object),
  ...(url && { inspector: url.href }),
})
