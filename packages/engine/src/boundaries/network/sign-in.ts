import { createHash, createHmac, pbkdf2Sync, timingSafeEqual } from 'node:crypto'

/**
 * Parses how a client signs in to a server. With a placeholder for the password, the client sends
 * other bytes than in the recording, and may expect other bytes from the server.
 */
export interface SignIn {
  /** The client's bytes, with password data replaced by the same number of zeros. */
  written(chunk: Uint8Array): Uint8Array
  /** The recorded answer of the server, adapted so that this client accepts it. */
  served(chunk: Uint8Array): Uint8Array
}

/** The messages of SCRAM-SHA-256 (RFC 7677), without their `gs2` header. */
export class ScramExchange {
  clientFirst = ''
  clientFinal = ''
  serverFirst = ''

  constructor(
    /** Passwords that the client may have used; called only if needed. */
    readonly passwords: () => Iterable<string>,
  ) {}

  /** The proof of a server that knows the client's password; undefined if no known password matches. */
  serverFinal(): string | undefined {
    const proof = this.#match()?.server.toString('base64')
    return proof && `v=${proof}`
  }

  /** The password that the client has used, if it is known. */
  password(): string | undefined {
    return this.#match()?.password
  }

  #match(): (ScramProofs & { readonly password: string }) | undefined {
    const [, unproved = '', proof = ''] = /^(.*),p=([^,]+)$/.exec(this.clientFinal) ?? []
    const sent = Buffer.from(proof, 'base64')
    if (sent.length !== 32) return undefined
    for (const password of this.passwords()) {
      const proofs = scramProofs(this, unproved, password)
      if (proofs === undefined) return undefined
      if (timingSafeEqual(proofs.client, sent)) return { ...proofs, password }
    }
    return undefined
  }
}

interface ScramProofs {
  readonly client: Buffer
  readonly server: Buffer
}

/** The proofs that both sides know the password. Undefined if the server has sent no challenge. */
export function scramProofs(
  { clientFirst, serverFirst }: ScramExchange,
  /** The client's last message without its proof. */
  unproved: string,
  password: string,
): ScramProofs | undefined {
  const [, salt = '', iterations = ''] = /,s=([^,]+),i=(\d+)/.exec(serverFirst) ?? []
  if (salt === '') return undefined
  const message = `${clientFirst},${serverFirst},${unproved}`
  const salted = pbkdf2Sync(
    password.normalize('NFKC'),
    Buffer.from(salt, 'base64'),
    Number(iterations),
    32,
    'sha256',
  )
  const clientKey = hmac(salted, 'Client Key')
  const signature = hmac(createHash('sha256').update(clientKey).digest(), message)
  return {
    client: Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0))),
    server: hmac(hmac(salted, 'Server Key'), message),
  }
}

const hmac = (key: Uint8Array, text: string): Buffer =>
  createHmac('sha256', key).update(text, 'latin1').digest()

/** A client signs in with its first messages. */
const MESSAGES_MAX = 8
const MESSAGE_MAX_BYTES = 16 << 10
const CLIENT_FIRST = /n,,(n=[^,\0]*,r=[!-+\--~]+)/
const CLIENT_FINAL = /(c=biws,r=[!-+\--~]+,p=)[A-Za-z0-9+/]{43}=/
const SERVER_FIRST = /r=[!-+\--~]+,s=[A-Za-z0-9+/=]+,i=\d+/
const SERVER_FINAL = /v=[A-Za-z0-9+/]{43}=/

/**
 * SCRAM-SHA-256 inside any protocol, such as that of MongoDB: its messages are text, whatever is
 * around them. The client's proof is not compared, and the server's proof is computed again.
 *
 * Not promised: SCRAM-SHA-1, channel binding, and messages that are split over two chunks.
 */
export class ScramMessages implements SignIn {
  readonly #exchange: ScramExchange
  #left = MESSAGES_MAX

  constructor(passwords: () => Iterable<string>) {
    this.#exchange = new ScramExchange(passwords)
  }

  written(chunk: Uint8Array): Uint8Array {
    if (this.#left === 0 || chunk.length > MESSAGE_MAX_BYTES) return chunk
    this.#left -= 1
    const text = latin1(chunk)
    this.#exchange.clientFirst ||= CLIENT_FIRST.exec(text)?.[1] ?? ''
    const final = this.#exchange.clientFirst === '' ? null : CLIENT_FINAL.exec(text)
    if (final === null) return chunk
    this.#exchange.clientFinal = final[0]
    const end = final.index + final[0].length
    return Buffer.from(chunk).fill(0, final.index + (final[1]?.length ?? 0), end)
  }

  served(chunk: Uint8Array): Uint8Array {
    const exchange = this.#exchange
    if (this.#left === 0 || exchange.clientFirst === '') return chunk
    const text = latin1(chunk)
    exchange.serverFirst ||= SERVER_FIRST.exec(text)?.[0] ?? ''
    const final = exchange.clientFinal === '' ? null : SERVER_FINAL.exec(text)
    if (final === null) return chunk
    this.#left = 0
    const proof = exchange.serverFinal()
    if (proof === undefined) return chunk
    const bytes = Buffer.from(chunk)
    bytes.write(proof, final.index)
    return bytes
  }
}

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')

const HEADER_BYTES = 4
/** Flags, size limit, character set and reserved bytes at the start of a MySQL sign-in. */
const FIXED_BYTES = 32
const PROTOCOL_41 = 0x200
const SHORT_ANSWER = 0x8000
const ANY_ANSWER = 0x200000

/**
 * The sign-in to MySQL or MariaDB, with any plugin: the answer in the client's first message, and
 * every further message until its first command. Commands start with number 0, these do not.
 *
 * Not promised: `COM_CHANGE_USER`, messages that are split over two chunks, and a server that
 * proves its certificate with the password.
 */
export class MysqlHandshake implements SignIn {
  #state: 'startup' | 'messages' | 'over' = 'startup'

  written(chunk: Uint8Array): Uint8Array {
    if (this.#state === 'over') return chunk
    const bytes = Buffer.from(chunk)
    for (let at = 0; at < bytes.length && this.#state !== 'over';) {
      const end = at + HEADER_BYTES + (at + 3 < bytes.length ? bytes.readUIntLE(at, 3) : Infinity)
      const number = bytes[at + 3] ?? 0
      if (end > bytes.length || number === 0) this.#state = 'over'
      else this.#hide(bytes.subarray(at + HEADER_BYTES, end), number)
      at = end
    }
    return bytes
  }

  #hide(message: Buffer, number: number): void {
    if (this.#state === 'messages') {
      message.fill(0)
      return
    }
    const flags = message.length < FIXED_BYTES ? 0 : message.readUInt32LE(0)
    const isReserved = message.subarray(9, 28).every((byte) => byte === 0)
    const hasAnswer = (flags & (SHORT_ANSWER | ANY_ANSWER)) !== 0
    if (number > 2 || (flags & PROTOCOL_41) === 0 || !hasAnswer || !isReserved) this.#state = 'over'
    // Without a user, it is a request for TLS.
    else if (message.length > FIXED_BYTES) {
      this.#state = 'messages'
      const from = message.indexOf(0, FIXED_BYTES) + 1
      // No plugin has a longer answer than fits into one byte of length.
      message.fill(0, from + 1, from + 1 + (message[from] ?? 0))
    }
  }

  served(chunk: Uint8Array): Uint8Array {
    return chunk
  }
}
