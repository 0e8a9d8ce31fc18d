import { RetakeError } from '@retake/engine/errors'
import { reason } from './reason.js'

export const uiHostNeedsPassword = (host: string): RetakeError =>
  new RetakeError(
    'UI_HOST_NEEDS_PASSWORD',
    `The viewer is not served for ${host} without a password.`,
    'Tapes hold whole conversations, and from the viewer programs are run; others could reach it there.',
    'Set RETAKE_PASSWORD or name a file with --password-file; or leave out --host and --allow-host, and stay on this machine.',
  )

export const uiPasswordTooShort = (where: string, least: number): RetakeError =>
  new RetakeError(
    'UI_PASSWORD_TOO_SHORT',
    `The password in ${where} is too short.`,
    `It has fewer than ${least} characters, and others can try to guess it.`,
    'Choose a longer one, for example with `openssl rand -base64 18`.',
  )

export const uiPasswordUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'UI_PASSWORD_UNREADABLE',
    `The password file ${file} cannot be read.`,
    `The system said: ${reason(cause)}.`,
    'Name a file that you may read and whose first line is the password.',
    { cause },
  )

export const uiPortTaken = (port: number, cause: unknown): RetakeError =>
  new RetakeError(
    'UI_PORT_TAKEN',
    `The viewer cannot listen on port ${port}.`,
    `The system said: ${reason(cause)}.`,
    'Choose another one with --port; `--port 0` takes any that is free and says which.',
    { cause },
  )

export const uiNotListening = (host: string, cause: unknown): RetakeError =>
  new RetakeError(
    'UI_HOST_UNKNOWN',
    `The viewer cannot listen on ${host}.`,
    `The system said: ${reason(cause)}.`,
    'Name an address of this machine with --host; names that lead here through a proxy go with --allow-host.',
    { cause },
  )

export const tooManyJobs = (most: number): RetakeError =>
  new RetakeError(
    'TOO_MANY_JOBS',
    `${most} forks and reruns are waiting already.`,
    'Each is a process of its own, and only a few run at once.',
    'Wait until some have ended, or stop some.',
  )

export const jobFailed = (cause: unknown): RetakeError =>
  new RetakeError(
    'JOB_FAILED',
    'The fork or rerun could not be carried out.',
    `${reason(cause)}.`,
    'Try the same with `retake fork` or `retake rerun`: it prints what the program says.',
    { cause },
  )

export const noSuchJob = (id: string): RetakeError =>
  new RetakeError(
    'NO_SUCH_JOB',
    `There is no fork or rerun "${id}" here.`,
    'It ended long ago, or was started by another server.',
    'The branches of its run show what was recorded.',
  )

export const noSuchSession = (id: string, why: string): RetakeError =>
  new RetakeError(
    'NO_SUCH_SESSION',
    `The place in the run that was looked at is closed (${id}).`,
    why,
    'Go to the step again: that opens a new one.',
  )

export const serverClosing = (): RetakeError =>
  new RetakeError(
    'SERVER_CLOSING',
    'The viewer’s server is ending.',
    'It ends everything that it has started, and starts nothing more.',
    'Start `retake ui` again.',
  )
