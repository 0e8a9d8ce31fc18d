import type { BlameRunOptions, FindingsFile } from '@retake/lab/blame'

export type {
  BlameRunOptions,
  CauseDetail,
  FailureClass,
  FindingsFile,
  SearchedStep,
} from '@retake/lab/blame'

/**
 * Finds the steps that together made a recorded run fail, as `retake blame` does. `run` is an id or
 * its beginning, a path, or `last`. Starts processes of the recorded agent; tools with effects run
 * only if `liveTools` allows it. Resolves with `undefined` if the run passes. Throws if the tape is
 * not trusted or has no steps, or if its program has changed.
 */
export async function blame(
  run: string,
  options: BlameRunOptions = {},
): Promise<FindingsFile | undefined> {
  const { blameRecorded } = await import('@retake/lab/blame')
  return blameRecorded(run, options)
}
