import { RetakeError } from '@retake/engine/errors'
import { printable } from '../terminal/terminal.js'

export const noRuns = (folder: string): RetakeError =>
  new RetakeError(
    'NO_RUNS',
    'There is no run yet.',
    `${folder} holds no tape.`,
    'Record one with `retake record <file>`, let `retake demo` make some, or name a tape by its path.',
  )

/** Of a folder that was named, or of the one where runs are. */
export const noTapes = (folder: string, isFolder: boolean): RetakeError =>
  new RetakeError(
    'NO_RUNS',
    'There are no recorded runs to look at.',
    isFolder ? `${folder} holds no tape.` : `There is no folder ${folder}.`,
    'Name the folder with --tapes, or record runs with `retake record <file>` or a guard first.',
  )

export const unknownRun = (name: string, folder: string): RetakeError =>
  new RetakeError(
    'UNKNOWN_RUN',
    `There is no run "${name}".`,
    `No tape in ${folder} has an id that starts so, and there is no file of that name.`,
    '`retake list` shows the runs; a run is named by id, start of its id, path, or `last`.',
  )

export const emptyRunName = (): RetakeError =>
  new RetakeError(
    'UNKNOWN_RUN',
    'The name of the run is empty.',
    'An empty name would fit every run.',
    '`retake list` shows the runs; a run is named by id, start of its id, path, or `last`.',
  )

export const ambiguousRun = (name: string, ids: readonly string[]): RetakeError =>
  new RetakeError(
    'AMBIGUOUS_RUN',
    `"${name}" fits ${ids.length} runs.`,
    `They are ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ' and more' : ''}.`,
    'Give more letters of the id, or say `last`.',
  )

export const noSuchStep = (run: string, step: string, count: number): RetakeError =>
  new RetakeError(
    'NO_SUCH_STEP',
    `Run ${run} has no step ${step}.`,
    count === 0 ? 'It has no steps at all.' : `Its steps are numbered 1 to ${count}.`,
    `\`retake show ${run}\` lists them.`,
  )

export const textNotFound = (
  run: string,
  text: string,
  near: readonly { readonly text: string; readonly places: number }[],
): RetakeError =>
  new RetakeError(
    'TEXT_NOT_FOUND',
    `"${printable(text.length > 60 ? `${text.slice(0, 59)}…` : text)}" stands nowhere in run ${run}.`,
    'Every event was searched; secrets are on the tape as placeholders only.',
    near.length === 0
      ? 'Look for a shorter part of it; `retake show` prints what the steps hold.'
      : `Did you mean ${near.map(({ text: each, places }) => `"${printable(each)}" (${places})`).join(', ')}?`,
  )

export const runStillRecording = (id: string): RetakeError =>
  new RetakeError(
    'RUN_STILL_RECORDING',
    `Run ${id} is still being recorded.`,
    'Its tape grows, so it cannot be run again from it yet.',
    'Wait until it has ended.',
  )
