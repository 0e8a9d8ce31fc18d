import { mkdirSync } from 'node:fs'
import type { Settings } from '../settings.js'
import { ServerKeys } from '../storage/server-keys.js'

/** Token of workers: from the settings, or stored in the data folder. */
export const workerToken = ({ workerToken: chosen }: Settings, keys: ServerKeys): string =>
  chosen ?? `rtw_${keys.key('worker', 'token').toString('base64url')}`

/** The same for a server that may be running; the first call makes its keys. */
export function readWorkerToken(settings: Settings): string {
  mkdirSync(settings.data, { recursive: true, mode: 0o711 })
  return workerToken(settings, ServerKeys.open(settings.data))
}
