import { errorTable } from '@retake/tape/format'

export const viewerErrors = errorTable({
  VIEWER_NOT_SIGNED_IN: () => [
    'You are not signed in.',
    'The address contains a key that changes each time `retake ui` starts.',
    'Open the address that `retake ui` printed in your terminal.',
  ],
  VIEWER_SIGN_IN_NEEDED: () => [
    'You are not signed in.',
    'This viewer is reachable over a network and needs a password.',
    'Open its address and enter the password.',
  ],
  VIEWER_WRONG_PASSWORD: () => [
    'Wrong password.',
    'It is not the password that `retake ui` was started with.',
    'Try again, or get it from the person who started the viewer.',
  ],
  VIEWER_TOO_MANY_PASSWORDS: (seconds: number) => [
    'Too many wrong passwords were tried.',
    'The number of attempts is limited.',
    `Wait ${seconds} seconds and try again.`,
  ],
  VIEWER_HOST_NOT_ALLOWED: (host: string | undefined) => [
    host === undefined
      ? 'The request has no Host header.'
      : `The viewer does not serve the host ${host.slice(0, 100)}.`,
    'Unknown host names are blocked to prevent DNS rebinding attacks.',
    'Open the address that `retake ui` printed, or allow the name with `--allow-host`.',
  ],
  VIEWER_ORIGIN_NOT_ALLOWED: () => [
    'The request comes from another page.',
    'Only the viewer may call its server.',
    'Open the address that `retake ui` printed.',
  ],
  VIEWER_METHOD_NOT_ALLOWED: (method: string) => [
    `The viewer does not support ${method}.`,
    'It accepts GET, POST, PUT, PATCH and DELETE, and no preflight requests.',
    'Use GET to read, and another of these methods to change something.',
  ],
  VIEWER_CHANGE_NOT_MARKED: () => [
    'The header `x-retake` is missing.',
    'Requests that change something need it, because pages of other origins cannot send it.',
    'Send the header `x-retake: 1`.',
  ],
  VIEWER_BODY_NOT_JSON: () => [
    'The content type of the body is not JSON.',
    'Any page can send forms and plain text; only the viewer can send JSON.',
    'Send JSON with `content-type: application/json`.',
  ],
  VIEWER_LENGTH_MISSING: () => [
    'The request has no `content-length`.',
    'The size limit is checked before the body is read.',
    'Send `content-length`.',
  ],
  VIEWER_BODY_TOO_LARGE: (bytes: number, limit: number) => [
    `The body has ${bytes} bytes.`,
    `The limit for one request is ${limit}.`,
    'Make the change on the command line, with `retake fork --response <file>`.',
  ],
  VIEWER_NO_SUCH_ADDRESS: (address: string) => [
    `There is nothing at ${address.slice(0, 200)}.`,
    'The viewer has no page, file or route with this address.',
    'Start from the list of runs.',
  ],
  VIEWER_BAD_REQUEST: (name: string, value: string) => [
    `"${value.slice(0, 60)}" is not a valid ${name}.`,
    'The address has an invalid parameter.',
    'Reload the page; if you wrote the address yourself, correct it.',
  ],
  VIEWER_BAD_CHANGE: (field: string, expected: string) => [
    `${field === '' ? 'The body' : `"${field}"`} is not ${expected}.`,
    'The request is invalid; nothing was changed.',
    'Reload the page; if you sent the request yourself, correct it.',
  ],
  VIEWER_NOTHING_RUNS_HERE: () => [
    'Runs are read-only here.',
    'Programs can only be started by `retake ui`.',
    'Open the run with `retake ui` in the folder of its agent.',
  ],
})

export const STATUS: Readonly<
  Record<string, 400 | 401 | 403 | 404 | 405 | 411 | 413 | 415 | 421 | 429>
> = {
  VIEWER_NOT_SIGNED_IN: 401,
  VIEWER_SIGN_IN_NEEDED: 401,
  VIEWER_WRONG_PASSWORD: 401,
  VIEWER_TOO_MANY_PASSWORDS: 429,
  VIEWER_HOST_NOT_ALLOWED: 421,
  VIEWER_ORIGIN_NOT_ALLOWED: 403,
  VIEWER_METHOD_NOT_ALLOWED: 405,
  VIEWER_CHANGE_NOT_MARKED: 403,
  VIEWER_BODY_NOT_JSON: 415,
  VIEWER_LENGTH_MISSING: 411,
  VIEWER_BODY_TOO_LARGE: 413,
  VIEWER_NO_SUCH_ADDRESS: 404,
  VIEWER_BAD_REQUEST: 400,
  VIEWER_BAD_CHANGE: 400,
  VIEWER_NOTHING_RUNS_HERE: 405,
  NOT_FOUND: 404,
  TAPE_MISSING: 404,
  UNKNOWN_RUN: 404,
  NO_SUCH_STEP: 404,
  TAPE_NO_SUCH_EVENT: 404,
}
