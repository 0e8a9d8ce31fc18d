import type { Tape } from '@retake/tape/format'
import { hasInput } from './boundaries/input.js'
import { entryIsLoading, moduleLoadInFlight } from './boundaries/module-loads.js'
import { environmentFrom, RecordedEnvironment } from './environment.js'
import { finishWrite } from './file-state.js'
import type { Environment, Machine } from './kernel/machine.js'
import { natives } from './kernel/natives.js'
import type { PlayerOptions } from './kernel/player.js'
import type { RecordSessionOptions } from './kernel/record-session.js'
import { withScopes } from './library/framework-scopes.js'
import { hidesOutput, isStructural, redactionOf } from './secrets/redacted-tape.js'
import type { Redactor } from './secrets/redactor.js'
import { SecretMask } from './secrets/secrets.js'
import { ServedFiles } from './secrets/served-files.js'
import { TapeMask } from './secrets/tape-mask.js'

/** What plugs into a session that records. `variables`: their source; this process by default. */
export function recordingPorts(
  redactor?: Redactor,
  variables?: (secrets: SecretMask) => Environment,
): Pick<RecordSessionOptions, 'machine' | 'withScopes'> & { readonly mask: TapeMask } {
  const mask = new TapeMask(redactor)
  return { mask, machine: machineFor(mask.values, variables?.(mask.values)), withScopes }
}

/** What plugs into a session that is served from a tape. */
export function servingPorts(
  tape: Tape,
): Pick<PlayerOptions, 'machine'> & { readonly mask: SecretMask } {
  const mask = new SecretMask()
  mask.digestKey = redactionOf(tape)?.key.derive('digests')
  mask.isStructural = isStructural(tape)
  mask.hidesOutput = hidesOutput(tape)
  mask.addEnvironment(natives.env)
  return { mask, machine: machineFor(mask) }
}

const machineFor = (secrets: SecretMask, from?: Environment): Machine => ({
  recordedVariables: (options) => new RecordedEnvironment({ ...options, secrets, from }),
  servedVariables: (tape, options) => environmentFrom(tape, { ...options, secrets }),
  servedFiles: (isContinued) => new ServedFiles(secrets, isContinued),
  finishWrite,
  hasInput,
  mayRun: () => !moduleLoadInFlight(),
  isLoading: entryIsLoading,
})
