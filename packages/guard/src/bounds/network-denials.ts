import type { Denial } from '../guard-error.js'
import type { AddressKind } from './address-ranges.js'
import type { NetworkScope } from './scopes.js'

const SHOWN = 8

/** Every refusal of a network scope. Each code has a page in docs/errors. */
export class NetworkDenials {
  readonly #hosts: string
  readonly #methods: string

  constructor(
    readonly policy: string,
    scope: NetworkScope,
  ) {
    this.#hosts =
      scope.allow === undefined
        ? 'Every public host is allowed.'
        : scope.allow.length === 0
          ? `No host is allowed${scope.addresses?.length ? `, only ${list(scope.addresses)}` : ''}.`
          : `Allowed are ${list(scope.allow)}.`
    this.#methods = scope.methods === undefined ? '' : list(scope.methods)
  }

  address(host: string, address: string, port: number | undefined, kind: AddressKind): Denial {
    const where = endpointText(address, port)
    const isMetadata = kind === 'metadata'
    return this.#denial(
      isMetadata ? 'ADDRESS_METADATA' : 'ADDRESS_PRIVATE',
      host === address ? `Connecting to ${where}.` : `Connecting to ${host} at ${where}.`,
      isMetadata ? 'Clouds hand out credentials there.' : `It is not a public address (${kind}).`,
      `${this.#hosts} If it is meant, list \`${where}\` in \`addresses\` of the network scope.`,
    )
  }

  metadataName(host: string): Denial {
    return this.#denial(
      'ADDRESS_METADATA',
      `Connecting to ${host}.`,
      'Clouds hand out credentials there.',
      this.#hosts,
    )
  }

  host(host: string, port: number | undefined): Denial {
    return this.#denial(
      'HOST_NOT_ALLOWED',
      `Connecting to ${endpointText(host, port)}.`,
      'The host is not on the allow list.',
      this.#hosts,
    )
  }

  notAHost(host: string): Denial {
    return this.#denial(
      'HOST_NOT_ALLOWED',
      `Connecting to ${JSON.stringify(host)}.`,
      'It is not the name of a host.',
      this.#hosts,
    )
  }

  lookup(host: string): Denial {
    return this.#denial(
      'HOST_NOT_ALLOWED',
      `Looking up ${host}.`,
      'A look-up tells the name to others, and the host is not on the allow list.',
      this.#hosts,
    )
  }

  method(method: string, url: string): Denial {
    return this.#denial(
      'METHOD_NOT_ALLOWED',
      `A ${method} request to ${url}.`,
      'The method is not on the list.',
      `Allowed methods are ${this.#methods || 'none'}.`,
    )
  }

  protocol(protocol: string, where: string): Denial {
    return this.#denial(
      'PROTOCOL_NOT_ALLOWED',
      `Using ${protocol} with ${where}.`,
      this.#methods === ''
        ? 'The protocol is not one that tools may speak.'
        : 'Only HTTP requests can be told apart by their method.',
      this.#methods === '' ? this.#hosts : `HTTP with ${this.#methods} is allowed.`,
    )
  }

  /** A connection whose content cannot be judged. */
  raw(where: string): Denial {
    return this.#denial(
      'SOCKET_NOT_ALLOWED',
      `A connection to ${where} that does not speak HTTP.`,
      'Where only some HTTP methods are allowed, other protocols cannot be judged.',
      `HTTP with ${this.#methods || 'no method'} is allowed.`,
    )
  }

  socket(path: string): Denial {
    return this.#denial(
      'SOCKET_NOT_ALLOWED',
      `Connecting to the local socket ${path}.`,
      'Local sockets lead to services of this machine.',
      `If it is meant, list \`unix:${path}\` in \`addresses\` of the network scope.`,
    )
  }

  listen(): Denial {
    return this.#denial(
      'LISTEN_NOT_ALLOWED',
      'Waiting for connections from outside.',
      'A tool with a network scope connects to others; others do not connect to it.',
      'Start servers outside of the tool.',
    )
  }

  /** The same, met after a redirect. */
  redirected(denial: Denial, from: string): Denial {
    const isSpecific = denial.code.startsWith('ADDRESS_')
    return {
      ...denial,
      code: isSpecific ? denial.code : 'REDIRECT_NOT_ALLOWED',
      what: `${denial.what} ${from} redirects there.`,
    }
  }

  #denial(code: string, what: string, why: string, allowed: string): Denial {
    return { code, rule: `${this.policy}/network`, what, why, allowed }
  }
}

const list = (texts: readonly string[]): string =>
  texts.length > SHOWN
    ? `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`
    : texts.join(', ')

const endpointText = (host: string, port: number | undefined): string =>
  !port ? host : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
