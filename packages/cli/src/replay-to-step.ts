import type { Step, Tape } from '@retake/tape'
import { Interrupted } from './agent-process.js'
import { warnOfChangedSources } from './changed-sources.js'
import { checkEnd, explainingDivergence, lookAtStep } from './look-at-step.js'
import { findStep } from './find-step.js'
import { inspectorLines, inspectorPort, openInspector } from './hold-with-inspector.js'
import { printable } from './printable.js'
import { stopJson, stopLines } from './stop-lines.js'
import { cutTo } from './table.js'
import { painter, widthOf } from './terminal.js'
import type { Look } from './terminal.js'
import { viewRun } from './view-run.js'
import { withProbe } from './with-probe.js'

export interface ReplayToStepOptions {
  readonly step: string
  /** The value of `--inspect`, if it was given. */
  readonly inspect: string | undefined
  readonly json: boolean
  readonly nodeArgs: readonly string[]
}

/** Runs the recorded program to the moment a step was answered and shows, or holds, it there. */
export async function replayToStep(tape: Tape, asked: ReplayToStepOptions): Promise<number> {
  const { json, inspect, nodeArgs } = asked
  const view = viewRun(tape)
  const step = findStep(view, asked.step)
  const port = inspect === undefined ? undefined : inspectorPort(inspect)
  warnOfChangedSources(tape)
  const output = {
    stdout: json ? process.stderr : 'inherit',
    stderr: 'inherit',
  } as const
  const options = { nodeArgs, ...(inspect !== undefined && { output }) }
  return withProbe(tape, options, (probe, interruption) =>
    explainingDivergence(tape, json, async () => {
      const stop = await lookAtStep(probe, view, step)
      const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
      const url = port === undefined ? undefined : await openInspector(probe, port)
      if (json) console.log(JSON.stringify(jsonOf(tape, step, stop, url), undefined, 2))
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
