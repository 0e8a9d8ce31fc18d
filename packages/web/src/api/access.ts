import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Who is let in, and under which names the server is known. */
export interface Access {
  /** Opens the door once, in the printed address; undefined where there is a password instead. */
  readonly token: string | undefined
  readonly password: string | undefined
  /** What the cookie of an open door holds. Never the token: cookies go to every port of a machine. */
  readonly session: string
  readonly cookie: string
  /** Values of the Host header that are ours, with their port. */
  readonly hosts: ReadonlySet<string>
  /** Names behind a proxy, with any port, and with https. */
  readonly proxied: ReadonlySet<string>
}

interface AccessOptions {
  readonly port: number
  /** Addresses and names of this machine that lead to the server, without port. */
  readonly hosts: readonly string[]
  readonly allowHosts: readonly string[]
  readonly password: string | undefined
}

/** A new token and session: what was let in before is not any more. */
export function createAccess({ port, hosts, allowHosts, password }: AccessOptions): Access {
  const names = hosts.map((host) => (host.includes(':') ? `[${host}]` : host).toLowerCase())
  return {
    token: password === undefined ? newSecret() : undefined,
    password,
    session: newSecret(),
    // Cookies know no ports: two viewers on one machine must not take each other's.
    cookie: `retake_${port}`,
    hosts: new Set([
      ...names.map((name) => `${name}:${port}`),
      // Browsers leave out the port they take by themselves.
      ...(port === 80 ? names : []),
    ]),
    proxied: new Set(allowHosts.map((name) => name.toLowerCase())),
  }
}

const newSecret = (): string => randomBytes(24).toString('base64url')

/** Compares without telling by its time how much was right, or how long the secret is. */
export function isSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(secret))
}
