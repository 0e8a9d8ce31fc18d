import {
  currentSession,
  declarePureAddons,
  entryOfAgent,
  install,
  outsideRuns,
  record,
  type RecordOptions,
  type RecordResult,
  runOfError,
} from '@retake/engine'
import path from 'node:path'
import type { RecordedCode } from '@retake/tape'
import { project } from '@retake/runner/config'

let config: Promise<void> | undefined

/**
 * `record()` with the settings of `retake.config`: folder of the tapes, signed seals, redaction,
 * and pure native add-ons. Reads the configuration once, before the first run of the process.
 */
export async function recordInProject<T, O extends RecordOptions>(
  options: O,
  agent: (input: O['input']) => T | Promise<T>,
): Promise<RecordResult<T>> {
  // A nested run is not recorded separately and needs no configuration.
  if (currentSession() !== undefined) return record(options, agent)
  // The configuration may import this library, which must stay installed afterwards.
  install()
  await readProject()
  const { runs, seal, recording } = project()
  const hasFolder = options?.dir !== undefined || options?.file !== undefined
  const code = await codeOf(options, agent)
  const recorded = record(
    {
      ...(seal.sign !== undefined && { sign: seal.sign }),
      ...(recording.redact !== undefined && { redact: recording.redact }),
      ...(runs !== undefined && !hasFolder && { dir: runs }),
      ...options,
    },
    agent,
    code,
  )
  void pushWhenDone(recorded)
  return recorded
}

/** Read once per process and entry. `record()` reports wrong options. */
async function codeOf(
  options: RecordOptions,
  agent: (input: never) => unknown,
): Promise<RecordedCode | undefined> {
  try {
    const entry = entryOfAgent(options, agent)
    if (entry === undefined) return undefined
    const { storeCodeOfFunction } = await import('@retake/runner/store-code')
    const { dir = project().runs ?? path.join('.retake', 'runs'), file } = options
    const folder = file === undefined ? dir : path.dirname(file)
    return outsideRuns(() => storeCodeOfFunction(entry, folder))
  } catch {
    return undefined
  }
}

/** The agent neither waits for the server nor sees its errors. */
async function pushWhenDone(recorded: Promise<RecordResult<unknown>>): Promise<void> {
  if (project().push.project === undefined) return
  try {
    const { run, done } = await recorded.catch((error: unknown) => {
      const failed = runOfError(error)
      if (failed === undefined) throw error
      return { run: failed, done: undefined }
    })
    await done
    const { autoPush } = await import('../team/auto-push.js')
    autoPush(run.path, done === undefined)
  } catch {
    // The caller gets the error of the run.
  }
}

/** Every run reports a mistake in it until the process restarts. */
export const readProject = (): Promise<void> =>
  (config ??= outsideRuns(async () => {
    const { loadConfig } = await import('@retake/runner/load-config')
    await loadConfig(process.cwd())
    declarePureAddons(project().pureAddons)
  }))
