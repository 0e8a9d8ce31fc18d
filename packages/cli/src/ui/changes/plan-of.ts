import { planFork } from '@retake/engine'
import type { ContinuePlan, ForkOptions } from '@retake/engine'
import { answerPayload, drawPayload, requestPayload } from '@retake/tape'
import type { Payload, Step, Tape } from '@retake/tape'
import type { ForkRequest } from '@retake/web'
import { payloadNotChanged } from '../../errors/branches.js'
import { noSuchStep } from '../../errors/runs.js'
import { viewRun } from '../../view-run.js'
import { changedPaths } from './changed-paths.js'
import { editedPayload } from './edited-text.js'

/** The plan for a fork that a page asked for; throws what is wrong with it, before anything runs. */
export function planOf(tape: Tape, request: ForkRequest): ContinuePlan {
  const { response, requestText, ...rest } = request
  return planFork(tape, {
    ...rest,
    ...(response !== undefined && answerChange(tape, request.at, response)),
    ...(requestText !== undefined && requestChange(tape, request.at, requestText)),
  })
}

/** A whole answer, as changes by path where they say all of it. */
function answerChange(tape: Tape, at: string, text: string): Pick<ForkOptions, 'set' | 'payload'> {
  const event = /^e(\d+)$/.exec(at)?.[1]
  const recorded =
    event === undefined ? answerPayload(tape, stepOf(tape, at)) : drawPayload(tape, Number(event))
  const { edited, paths } = changeOf(recorded, text, `The answer of step ${at}`)
  if (event !== undefined) return { set: paths ?? { value: edited.data } }
  return paths === undefined ? { payload: edited } : { set: paths }
}

function requestChange(
  tape: Tape,
  at: string,
  text: string,
): Pick<ForkOptions, 'request' | 'requestPayload'> {
  const recorded = requestPayload(tape, stepOf(tape, at))
  const { edited, paths } = changeOf(recorded, text, `The request of step ${at}`)
  return paths === undefined ? { requestPayload: edited } : { request: paths }
}

function changeOf(
  recorded: Payload,
  text: string,
  what: string,
): { edited: Payload; paths: Readonly<Record<string, unknown>> | undefined } {
  const edited = editedPayload(recorded, text)
  const paths = changedPaths(recorded.data, edited.data)
  const isSame =
    paths !== undefined &&
    (Object.keys(paths).length === 0 || ('value' in paths && paths['value'] === recorded.data))
  if (isSame) throw payloadNotChanged(what)
  return { edited, paths }
}

function stepOf(tape: Tape, label: string): Step {
  const view = viewRun(tape)
  const step = view.step(label)
  if (step === undefined) throw noSuchStep(view.id, label, view.recordedSteps.length)
  return step
}
