import { RetakeError } from '@retake/engine/errors'
import { reason } from './reason.js'

export const configInvalid = (file: string, what: string): RetakeError =>
  new RetakeError(
    'CONFIG_INVALID',
    `The configuration ${file} is not valid.`,
    what,
    'Correct it; `retake docs config` lists what can be set.',
  )

export const configUnreadable = (file: string, place: string, cause: unknown): RetakeError =>
  new RetakeError(
    'CONFIG_UNREADABLE',
    `The configuration ${file}${place} cannot be read.`,
    `It says: ${reason(cause)}`,
    'Correct the file, or remove it: every setting has a default.',
    { cause },
  )
