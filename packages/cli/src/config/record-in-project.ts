import {
  currentSession,
  declarePureAddons,
  install,
  outsideRuns,
  record,
  type RecordOptions,
  type RecordResult,
  runOfError,
} from '@retake/engine'
import { useGuardDefaults } from '@retake/guard'
import { attempt } from '@retake/tape/format'
import { project } from './define-config.js'
import { findConfig } from './find-config.js'

let config: Promise<void> | undefined

/**
 * `record()` with the settings of `retake.config`: the folder of the tapes, signed seals, redaction, and
 * native add-ons that only compute. The configuration is read once, before the first run of the process.
 */
export async function recordInProject<T, O extends RecordOptions>(
  options: O,
  agent: (input: O['input']) => T | Promise<T>,
): Promise<RecordResult<T>> {
  // Inside another run nothing is recorded, nor read.
  if (currentSession() !== undefined) return record(options, agent)
  // The configuration may import this library, which must not be uninstalled after.
  install()
  await readProject()
  const { runs, seal, recording } = project()
  const hasFolder = options?.dir !== undefined || options?.file !== undefined
  const recorded = record(
    {
      ...(seal.sign !== undefined && { sign: seal.sign }),
      ...(recording.redact !== undefined && { redact: recording.redact }),
      ...(runs !== undefined && !hasFolder && { dir: runs }),
      ...options,
    },
    agent,
  )
  void pushWhenDone(recorded)
  return recorded
}

/** The agent neither waits for the server nor hears of its errors. */
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

/** A guard outside of a recording opens its own tape, to which the settings apply, too. */
useGuardDefaults(() => {
  if (currentSession() !== undefined) return undefined
  // A tool that makes a guard may not be allowed to read the file, and the folder may be gone.
  const file = outsideRuns(() => attempt(() => findConfig(process.cwd())))
  if (file === undefined) return undefined
  return readProject().then(() => {
    const { recording, seal } = project()
    return {
      ...(recording.redact && { redact: recording.redact }),
      ...(seal.sign !== undefined && { sign: seal.sign }),
    }
  })
})

/** A mistake in it is reported by every run until the process starts again. */
const readProject = (): Promise<void> =>
  (config ??= outsideRuns(async () => {
    const { loadConfig } = await import('./load-config.js')
    await loadConfig(process.cwd())
    declarePureAddons(project().pureAddons)
  }))
