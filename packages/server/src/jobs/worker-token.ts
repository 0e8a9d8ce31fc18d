import type { Settings } from '../settings.js'
import type { ServerKeys } from '../storage/server-keys.js'

/** Token of workers: the one of the settings, or one that belongs to the data folder. */
export const workerToken = ({ workerToken: chosen }: Settings, keys: ServerKeys): string =>
  chosen ?? `rtw_${keys.key('worker', 'token').toString('base64url')}`
