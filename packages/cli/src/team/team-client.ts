import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { replacePrivateFile } from '@retake/tape/node'
import { reason } from '@retake/engine/errors'
import { trustedRunsFile } from '@retake/engine/runs'
import { cliErrors } from '@retake/runner/errors'
import { retryAfterMs, attempt } from '@retake/tape'
import { parseJson } from '@retake/tape/format'

export const TEAM_OPTIONS = {
  '--project <org/project>': 'project on the server (default: RETAKE_PROJECT)',
  '--server <url>': 'address of the server (default: RETAKE_SERVER, or the last `retake login`)',
} as const

export interface TeamProject {
  /** URL of the server, without a trailing slash. */
  readonly server: string
  readonly org: string
  readonly project: string
  readonly key: string
}

/** Where `retake login` remembers servers, outside of any project. */
const loginFile = (): string => path.join(path.dirname(trustedRunsFile()), 'servers.json')

interface Login {
  readonly server: string
  readonly org: string
  readonly key: string
}

function readLogins(): Login[] {
  const content = attempt(() => readFileSync(loginFile(), 'utf8'))
  return attempt(() => (JSON.parse(content ?? '[]') as Login[]).filter(isLogin)) ?? []
}

const isLogin = ({ server, org, key }: Login): boolean =>
  [server, org, key].every((each) => typeof each === 'string')

/** Remembers a login. Replaces one for the same organization. */
export function saveLogin(login: Login): void {
  const others = readLogins().filter(
    ({ server, org }) => server !== login.server || org !== login.org,
  )
  replacePrivateFile(loginFile(), `${JSON.stringify([login, ...others], null, 2)}\n`)
}

/**
 * The project named by options, variables or the last login: `--project acme/refunds`,
 * `RETAKE_PROJECT`, `RETAKE_SERVER` and `RETAKE_API_KEY`.
 */
export function teamProject(named: {
  readonly server?: string | undefined
  readonly project?: string | undefined
}): TeamProject {
  const { RETAKE_SERVER, RETAKE_PROJECT, RETAKE_API_KEY } = process.env
  const given = named.project ?? RETAKE_PROJECT ?? ''
  const [org = '', project = ''] = given.split('/')
  if (org === '' || project === '') throw cliErrors.TEAM_PROJECT_MISSING(given)
  const server = (named.server ?? RETAKE_SERVER)?.replace(/\/$/, '')
  const login = readLogins().find(
    (each) => each.org === org && (server === undefined || each.server === server),
  )
  const at = server ?? login?.server
  const key = RETAKE_API_KEY ?? login?.key
  if (at === undefined || key === undefined) throw cliErrors.TEAM_LOGIN_MISSING(org)
  return { server: at, org, project, key }
}

const TRIES = 6
const WAIT_MS = 300
const RETRY_AFTER_MAX_MS = 30_000

/** Sends requests to a team server. Retries after network errors and restarts. */
export class TeamClient {
  readonly #server: string
  readonly #key: string | undefined

  constructor(server: string, key?: string) {
    this.#server = server.replace(/\/$/, '')
    this.#key = key
  }

  async json<T>(method: string, route: string, body?: unknown): Promise<T> {
    const response = await this.send(method, route, {
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    })
    const value = parseJson(await boundedText(response, route))
    if (value === undefined) throw cliErrors.TEAM_ANSWER_INVALID(route, 'It is not JSON.')
    return value as T
  }

  /** Sends an idempotent request. Throws refusals with the server's message. */
  async send(method: string, route: string, init: RequestInit = {}): Promise<Response> {
    let last: unknown
    const headers = new Headers(init.headers)
    if (this.#key !== undefined) headers.set('authorization', `Bearer ${this.#key}`)
    // A redirect could send the key elsewhere.
    const request = { ...init, method, headers, redirect: 'error' } as const
    for (let attempts = 0; attempts < TRIES; attempts++) {
      if (attempts > 0) await wait(WAIT_MS * 2 ** (attempts - 1))
      const response = await fetch(`${this.#server}${route}`, request).catch((error: unknown) => {
        last = error
      })
      if (response?.ok) return response
      if (response === undefined) continue
      const isBusy = response.status === 429 || response.status >= 502
      if (!isBusy || attempts === TRIES - 1) throw await refusal(response, this.#server)
      await wait(Math.min(retryAfterMs(response.headers, Date.now()) ?? 0, RETRY_AFTER_MAX_MS))
    }
    throw cliErrors.TEAM_SERVER_UNREACHABLE(this.#server, reason(last))
  }
}

/** An answer with the files of a run has a few hundred KB. */
const JSON_MAX_BYTES = 32 << 20

/** The body of an answer, which may be endless. */
async function boundedText(response: Response, route: string): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length
    if (length > JSON_MAX_BYTES)
      throw cliErrors.TEAM_ANSWER_INVALID(route, `It is longer than ${JSON_MAX_BYTES} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

async function refusal(response: Response, server: string): Promise<Error> {
  const text = await boundedText(response, response.url).catch(() => '')
  const body = parseJson(text) as
    | { error?: { code?: string; what?: string; why?: string; fix?: string } }
    | undefined
  const { code, what, why = '', fix = '' } = body?.error ?? {}
  return code === undefined || what === undefined
    ? cliErrors.TEAM_SERVER_UNREACHABLE(server, `it answered with status ${response.status}`)
    : cliErrors.TEAM_SERVER_REFUSED(code, what, why, fix)
}
