import { ScramExchange, type SignIn } from './sign-in.js'

const SSL_REQUEST = 80877103
const GSS_REQUEST = 80877104
const PROTOCOL_3 = 3
const PASSWORD = 0x70
const AUTHENTICATION = 0x52
const SASL_CONTINUE = 11
const SASL_FINAL = 12
const STARTUP_BYTES = 8
const HEADER_BYTES = 5
/** Passwords, hashes and SASL answers are shorter than this. */
const MESSAGE_MAX_BYTES = 64 << 10

/**
 * Parses how a PostgreSQL client signs in. The password data that it sends, in clear text, hashed
 * or as a SCRAM proof, is not compared, because with a placeholder for the password it always
 * differs. The server's proof is recomputed for the placeholder; otherwise the client would hang
 * up. Not promised: channel binding, and server messages that are split over two chunks.
 */
export class PostgresHandshake implements SignIn {
  #state: 'startup' | 'messages' | 'over' = 'startup'
  /** The beginning of the current message, until its length is known. */
  #header: number[] = []
  /** Remaining bytes of the message. */
  #left = 0
  /** Content of the message, if it contains password data. */
  #payload: Buffer[] = []
  readonly #scram: ScramExchange

  constructor(passwords: () => Iterable<string>) {
    this.#scram = new ScramExchange(passwords)
  }

  written(chunk: Uint8Array): Uint8Array {
    if (this.#state === 'over') return chunk
    const bytes = Buffer.from(chunk)
    let at = 0
    while (at < bytes.length) {
      if (this.#left === 0) {
        this.#header.push(bytes[at++] ?? 0)
        // False if the client is not, or no longer, signing in.
        const header = Buffer.from(this.#header)
        const isComplete = header.length === this.#headerBytes
        if (this.#state === 'messages') {
          if (header[0] !== PASSWORD) this.#state = 'over'
          else if (isComplete) this.#left = header.readUInt32BE(1) - 4
        } else if (isComplete) {
          if (!isEncryptionRequest(header) && header.readUInt16BE(4) !== PROTOCOL_3)
            this.#state = 'over'
          else this.#left = header.readUInt32BE(0) - STARTUP_BYTES
        }
        if (this.#left < 0 || this.#left > MESSAGE_MAX_BYTES) this.#state = 'over'
        if (!(this.#state !== 'over')) break
      } else {
        const piece = bytes.subarray(at, at + this.#left)
        at += piece.length
        this.#left -= piece.length
        if (this.#state === 'messages') {
          this.#payload.push(Buffer.from(piece))
          piece.fill(0)
        }
      }
      if (this.#left === 0 && this.#header.length === this.#headerBytes) this.#endMessage()
    }
    return bytes
  }

  get #headerBytes(): number {
    return this.#state === 'startup' ? STARTUP_BYTES : HEADER_BYTES
  }

  #endMessage(): void {
    if (this.#state === 'startup') {
      if (!isEncryptionRequest(Buffer.from(this.#header))) this.#state = 'messages'
    } else {
      const text = Buffer.concat(this.#payload).toString('latin1')
      const first = /^SCRAM-SHA-256\0[^]{4}[ny],[^,]*,(n=[^]*)$/.exec(text)
      if (first) this.#scram.clientFirst = first[1] ?? ''
      else if (text.startsWith('c=')) this.#scram.clientFinal = text
    }
    this.#header = []
    this.#payload = []
  }

  served(chunk: Uint8Array): Uint8Array {
    if (this.#state !== 'messages' || this.#scram.clientFirst === '') return chunk
    const bytes = Buffer.from(chunk)
    for (let at = 0; at + 9 <= bytes.length && bytes[at] === AUTHENTICATION;) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      const data = bytes.subarray(at + 9, end)
      const code = bytes.readUInt32BE(at + 5)
      if (code === SASL_CONTINUE) this.#scram.serverFirst = data.toString('latin1')
      if (code === SASL_FINAL) {
        const signature = this.#scram.serverFinal()
        if (signature !== undefined && data.length === signature.length) data.write(signature)
      }
      at = end
    }
    return bytes
  }
}

/** True for a client's request for encryption, which it sends before its startup message. */
export function isEncryptionRequest(header: Buffer): boolean {
  const code = header.readUInt32BE(4)
  return code === SSL_REQUEST || code === GSS_REQUEST
}
