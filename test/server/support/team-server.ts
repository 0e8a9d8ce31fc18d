import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings, type RunningServer, startServer } from '@retake/server'
import { freePort } from '../../support/free-port.mjs'
import { serverParts } from '../../../packages/cli/dist/team/server-parts.js'
import '../../../packages/cli/dist/verbs/index.js'

export interface TeamServer extends RunningServer {
  /** Addresses in mails, by recipient, oldest first. Without a mail server they are in the log. */
  readonly links: ReadonlyMap<string, readonly string[]>
  /** Stops the server, and removes its data. */
  remove(): Promise<void>
}

/** A server with an empty data folder below a path, as behind a reverse proxy. */
export async function startTeamServer(
  env: Readonly<Record<string, string>> = {},
): Promise<TeamServer> {
  const folder = await mkdtemp(join(tmpdir(), 'retake-server-'))
  // PostgreSQL runs as another user if the tests run as root.
  await chmod(folder, 0o711)
  const links = new Map<string, string[]>()
  const write = process.stderr.write.bind(process.stderr)
  process.stderr.write = (text: string, ...rest: never[]) => {
    const [, to = '', link = ''] = / mail to=(\S+) .*link=(\S+)/.exec(text) ?? []
    if (to === '') return write(text, ...rest)
    links.set(to, [...(links.get(to) ?? []), link])
    return true
  }
  const port = String(await freePort())
  const settings = readSettings(
    { data: join(folder, 'data'), port },
    { RETAKE_URL: `http://localhost:${port}/team`, ...env },
  )
  const server = await startServer(settings, await serverParts())
  return {
    ...server,
    links,
    remove: async () => {
      await server.close()
      process.stderr.write = write
      await rm(folder, { recursive: true, force: true })
    },
  }
}

let visitors = 0

/** Somebody with a browser that has no scripts. */
export class Visitor {
  readonly #server: TeamServer
  readonly #cookies = new Map<string, string>()
  readonly #address = `10.0.${visitors >> 8}.${visitors++ & 255}`

  constructor(server: TeamServer) {
    this.#server = server
  }

  /** Cookies as a request sends them. */
  get cookies(): string {
    return [...this.#cookies].map((pair) => pair.join('=')).join('; ')
  }

  get(path: string): Promise<Answer> {
    return this.#send('GET', path)
  }

  post(
    path: string,
    form: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
    headers: Readonly<Record<string, string>> = { origin: new URL(this.#server.url).origin },
  ): Promise<Answer> {
    const body = new URLSearchParams(form as Record<string, string>).toString()
    return this.#send('POST', path, body, headers)
  }

  async #send(
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const address = path.startsWith('http') ? path : `${this.#server.url}${path}`
    const response = await fetch(address, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        'x-forwarded-for': this.#address,
        ...(this.#cookies.size > 0 && { cookie: this.cookies }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '' || /max-age=0/i.test(cookie)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    const location = response.headers.get('location') ?? ''
    return {
      status: response.status,
      text: await response.text(),
      headers: response.headers,
      to: location.replace(new URL(this.#server.url).pathname, ''),
    }
  }
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  /** Where a redirect leads, below the public address; empty without one. */
  readonly to: string
}
