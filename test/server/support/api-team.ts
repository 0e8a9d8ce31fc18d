import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readSettings, type RunningServer, startServer } from '@retake/server'
// The package does not export it: only the command line passes it on.
import { serverParts } from '../../../packages/cli/dist/team/server-parts.js'
import '../../../packages/cli/dist/verbs/index.js'
import { writeTape } from '../../web/support/write-tape.js'

export interface Answer {
  readonly status: number
  readonly text: string
  /** The body as JSON, of a type that the caller knows. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- an assertion with a name
  readonly json: <T = Record<string, unknown>>() => T
  readonly headers: Headers
}

/** Headers that identify somebody. */
export type Credentials = Readonly<Record<string, string>>

export interface Team {
  readonly server: RunningServer
  readonly data: string
  readonly request: (
    as: Credentials,
    method: string,
    route: string,
    body?: unknown,
  ) => Promise<Answer>
  close(): Promise<void>
}

/** Starts a server with its own PostgreSQL in a temporary folder. */
export async function startTeam(
  settings: Readonly<Record<string, string>> = {},
  data = newDataFolder(),
): Promise<Team> {
  const server = await startServer(
    readSettings({ data, port: '0' }, { RETAKE_WORKERS: '0', ...settings }),
    await serverParts(),
  )
  return {
    server,
    data,
    request: (as, method, route, body) => request(server.url, as, method, route, body),
    close: async () => {
      await server.close()
      rmSync(path.dirname(data), { recursive: true, force: true })
    },
  }
}

/** PostgreSQL runs as another user if the tests run as root. */
export function newDataFolder(): string {
  const outer = mkdtempSync(path.join(tmpdir(), 'retake-team-'))
  chmodSync(outer, 0o711)
  return path.join(outer, 'data')
}

async function request(
  url: string,
  as: Credentials,
  method: string,
  route: string,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(url + route, {
    method,
    redirect: 'manual',
    headers: {
      ...(as['cookie'] !== undefined && { origin: new URL(url).origin }),
      ...(body !== undefined &&
        !(body instanceof Uint8Array) && { 'content-type': 'application/json' }),
      ...as,
    },
    ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    headers: response.headers,
    json: () => JSON.parse(text) as never,
  }
}

const sessionOf = (response: Response): Credentials => ({
  cookie: response.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; '),
})

/** Creates an organization and its owner; returns the owner's session. */
export async function createOrganization(
  { server }: Team,
  slug: string,
): Promise<{ readonly id: string; readonly owner: Credentials }> {
  const owner = await server.accounts.createOwner(
    { email: `owner@${slug}.test`, name: 'Owner', organization: slug, slug },
    new Headers(),
  )
  const organizations = await server.database.organizations()
  const id = organizations.find((each) => each.slug === slug)?.id ?? ''
  return { id, owner: sessionOf(owner) }
}

/** Adds a person to an organization; returns their session. */
export async function addMember(
  { server }: Team,
  org: { readonly id: string; readonly owner: Credentials },
  email: string,
  role: 'admin' | 'member' | 'viewer',
): Promise<Credentials> {
  const links: string[] = []
  const write = process.stderr.write.bind(process.stderr)
  // Without a mail server, the link is in the log.
  process.stderr.write = (chunk: string) => {
    links.push(...(chunk.match(/invitations\/\S+/g) ?? []))
    return true
  }
  try {
    await server.accounts.invite(org.id, email, role, new Headers(org.owner))
  } finally {
    process.stderr.write = write
  }
  const [, id = '', proof = ''] = /invitations\/([^?]+)\?proof=(\S+)/.exec(links[0] ?? '') ?? []
  const accepted = await server.accounts.acceptInvitation({ id, proof, name: '' }, new Headers())
  if (accepted === 'sign in first') throw new Error(`${email} has an account already`)
  return sessionOf(accepted)
}

/** Writes a tape of one model call, one tool call and a failure; returns its path. */
export function writeRun(folder: string, id: string, text: string): string {
  return writeTape(
    folder,
    {
      id,
      name: `agent of ${text}`,
      error: { name: 'Error', class: 'Error', message: `failed: ${text}` },
    },
    (tape) => {
      tape.chat([{ role: 'user', content: `question about ${text}` }], `answer about ${text}`)
      tape.tool('refund', { order: text }, { result: 'done' })
    },
  )
}

/** Pushes a tape as `retake push` does. Throws what the server refused. */
export async function pushTape(
  team: Team,
  as: Credentials,
  [org, project]: readonly [org: string, project: string],
  tape: string,
): Promise<Answer> {
  const ask = team.request
  const route = `/api/v1/${org}/projects/${project}`
  const content = readFileSync(tape)
  const run = path.basename(tape, '.tape')
  const digest = createHash('sha256').update(content).digest('hex')
  const files = [{ name: `${run}.tape`, digest, bytes: content.length }]
  const missing = await ask(as, 'POST', `${route}/uploads`, { files })
  if (missing.status !== 200) return missing
  if (missing.json<{ missing: unknown[] }>().missing.length > 0) {
    const sent = await ask(
      as,
      'PATCH',
      `${route}/uploads/${digest}?offset=0&size=${content.length}`,
      content,
    )
    if (sent.status !== 200) return sent
  }
  return ask(as, 'POST', `${route}/runs`, { run, files })
}
