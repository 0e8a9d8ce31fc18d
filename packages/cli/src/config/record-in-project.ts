import {
  currentSession,
  declarePureAddons,
  install,
  outsideRuns,
  record,
  type RecordOptions,
  type RecordResult,
} from '@retake/engine'
import { project } from './define-config.js'

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
  await (config ??= outsideRuns(readConfig))
  const { runs, seal, recording } = project()
  const hasFolder = options?.dir !== undefined || options?.file !== undefined
  return record(
    {
      ...(seal.sign !== undefined && { sign: seal.sign }),
      ...(recording.redact !== undefined && { redact: recording.redact }),
      ...(runs !== undefined && !hasFolder && { dir: runs }),
      ...options,
    },
    agent,
  )
}

/** A mistake in it is reported by every run until the process starts again. */
async function readConfig(): Promise<void> {
  const { loadConfig } = await import('./load-config.js')
  await loadConfig(process.cwd())
  declarePureAddons(project().pureAddons)
}
