import type { Explained } from './model/run-source.js'

type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 411 | 413 | 415 | 421 | 429

export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  constructor(
    readonly status: RefusalStatus,
    readonly code: string,
    readonly what: string,
    readonly why: string,
    readonly fix: string,
  ) {
    super(`${what} ${why} ${fix}`)
  }

  toJSON(): Explained {
    const { code, what, why, fix } = this
    return { code, what, why, fix }
  }
}

export const notSignedIn = (): RefusedError =>
  new RefusedError(
    401,
    'VIEWER_NOT_SIGNED_IN',
    'You are not signed in.',
    'The address contains a key that changes each time `retake ui` starts.',
    'Open the address that `retake ui` printed in your terminal.',
  )

export const signInNeeded = (): RefusedError =>
  new RefusedError(
    401,
    'VIEWER_SIGN_IN_NEEDED',
    'You are not signed in.',
    'This viewer is reachable over a network and needs a password.',
    'Open its address and enter the password.',
  )

export const wrongPassword = (): RefusedError =>
  new RefusedError(
    401,
    'VIEWER_WRONG_PASSWORD',
    'Wrong password.',
    'It is not the password that `retake ui` was started with.',
    'Try again, or get it from the person who started the viewer.',
  )

export const tooManyPasswords = (seconds: number): RefusedError =>
  new RefusedError(
    429,
    'VIEWER_TOO_MANY_PASSWORDS',
    'Too many wrong passwords were tried.',
    'The number of attempts is limited.',
    `Wait ${seconds} seconds and try again.`,
  )

export const hostNotAllowed = (host: string | undefined): RefusedError =>
  new RefusedError(
    421,
    'VIEWER_HOST_NOT_ALLOWED',
    host === undefined
      ? 'The request has no Host header.'
      : `The viewer does not serve the host ${host.slice(0, 100)}.`,
    'Unknown host names are blocked to prevent DNS rebinding attacks.',
    'Open the address that `retake ui` printed, or allow the name with `--allow-host`.',
  )

export const originNotAllowed = (): RefusedError =>
  new RefusedError(
    403,
    'VIEWER_ORIGIN_NOT_ALLOWED',
    'The request comes from another page.',
    'Only the viewer may call its server.',
    'Open the address that `retake ui` printed.',
  )

export const methodNotAllowed = (method: string): RefusedError =>
  new RefusedError(
    405,
    'VIEWER_METHOD_NOT_ALLOWED',
    `The viewer does not answer ${method}.`,
    'It accepts GET, POST, PUT, PATCH and DELETE, and no preflight requests.',
    'Use GET to read, and another of these methods to change something.',
  )

export const changeNotMarked = (): RefusedError =>
  new RefusedError(
    403,
    'VIEWER_CHANGE_NOT_MARKED',
    'The header `x-retake` is missing.',
    'Requests that change something need it, because pages of other origins cannot send it.',
    'Send the header `x-retake: 1`.',
  )

export const bodyNotJson = (): RefusedError =>
  new RefusedError(
    415,
    'VIEWER_BODY_NOT_JSON',
    'The content type of the body is not JSON.',
    'Any page can send forms and plain text; only the viewer can send JSON.',
    'Send JSON with `content-type: application/json`.',
  )

export const lengthMissing = (): RefusedError =>
  new RefusedError(
    411,
    'VIEWER_LENGTH_MISSING',
    'The request has no `content-length`.',
    'The size limit is checked before the body is read.',
    'Send `content-length`.',
  )

export const bodyTooLarge = (bytes: number, limit: number): RefusedError =>
  new RefusedError(
    413,
    'VIEWER_BODY_TOO_LARGE',
    `The body has ${bytes} bytes.`,
    `The limit for one request is ${limit}.`,
    'Make the change on the command line, with `retake fork --response <file>`.',
  )

export const noSuchAddress = (address: string): RefusedError =>
  new RefusedError(
    404,
    'VIEWER_NO_SUCH_ADDRESS',
    `There is nothing at ${address.slice(0, 200)}.`,
    'The viewer has no page, file or route with this address.',
    'Start from the list of runs.',
  )

export const badRequest = (name: string, value: string): RefusedError =>
  new RefusedError(
    400,
    'VIEWER_BAD_QUESTION',
    `"${value.slice(0, 60)}" is not a valid ${name}.`,
    'The address has an invalid parameter.',
    'Reload the page; if you wrote the address yourself, correct it.',
  )

export const badChange = (field: string, expected: string): RefusedError =>
  new RefusedError(
    400,
    'VIEWER_BAD_CHANGE',
    `${field === '' ? 'The body' : `"${field}"`} is not ${expected}.`,
    'The request is invalid; nothing was changed.',
    'Reload the page; if you sent the request yourself, correct it.',
  )

export const nothingRunsHere = (): RefusedError =>
  new RefusedError(
    405,
    'VIEWER_NOTHING_RUNS_HERE',
    'Runs are read-only here.',
    'Programs can only be started by `retake ui`.',
    'Open the run with `retake ui` in the folder of its agent.',
  )
