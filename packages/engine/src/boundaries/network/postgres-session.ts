import { createHash, randomBytes } from 'node:crypto'
import type net from 'node:net'
import { isEncryptionRequest } from './postgres-handshake.js'
import { ScramExchange, scramProofs } from './sign-in.js'

/** Longer messages are not read. */
const MESSAGE_MAX_BYTES = 1 << 20
/** Total size of the messages that one connection repeats. */
const REPEATED_MAX_BYTES = 4 << 20

const PROTOCOL_3 = 3
const IDLE = 0x49
const SYNC = Buffer.from([0x53, 0, 0, 0, 4])

/**
 * Follows a PostgreSQL connection that exists only on the tape, so that a run that goes live can
 * continue it: a new connection signs in as the agent did, and repeats the settings, subscriptions
 * and prepared statements of the session. The agent does not notice.
 *
 * Cannot continue: a transaction or query in progress, temporary tables, advisory locks, and a
 * sign-in with a password that is neither in the environment nor in a `pg` client. Not noticed:
 * session state that a function of the database sets, and the state of sequences (`lastval`).
 */
export class PostgresSession {
  readonly #fromClient = new Messages(true, (type, message) => this.#written(type, message))
  readonly #fromServer = new Messages(false, (type, message) => this.#answered(type, message))
  #startup: Buffer | undefined
  /** The client's last password message. */
  #password = Buffer.alloc(0)
  #salt = Buffer.alloc(0)
  readonly #scram: ScramExchange
  /** Transaction state that the server reported last; undefined before the sign-in is complete. */
  #status: number | undefined
  /** Rounds without an answer, oldest first. */
  readonly #open: Round[] = []
  #round = new Round()
  /** Bytes that set up the session, in order; each key has only its last value. */
  readonly #repeated = new Map<string, Buffer>()
  #repeatedBytes = 0
  #count = 0
  /** The reason why a new connection could not have the state of this one. */
  #obstacle: string | undefined
  /** True if the agent waits for messages that it has not asked for. */
  isListening = false

  constructor(readonly passwords: () => Iterable<string>) {
    this.#scram = new ScramExchange(passwords)
  }

  /** True if the bytes so far are those of PostgreSQL's protocol. */
  get isKnown(): boolean {
    return this.#startup !== undefined && !this.#fromClient.isBroken && !this.#fromServer.isBroken
  }

  written(bytes: Uint8Array): void {
    this.#fromClient.push(bytes)
  }

  served(bytes: Uint8Array): void {
    if (this.#startup !== undefined) this.#fromServer.push(bytes)
  }

  /** The reason why the session cannot continue after these further answers; undefined if it can. */
  obstacleAfter(answers: readonly Uint8Array[]): string | undefined {
    let { length } = this.#open
    let status = this.#status
    const rest = new Messages(false, (type, message) => {
      if (type !== 'Z') return
      if (status !== undefined) length -= 1
      status = message?.[5]
    })
    for (const bytes of answers) rest.push(bytes)
    if (this.#obstacle !== undefined) return this.#obstacle
    if (status === undefined) return 'the sign-in was not complete'
    const isInside = this.#fromClient.isInside || this.#round.messages.length > 0
    if (length > 0 || isInside) return 'a query was in progress'
    return status === IDLE ? undefined : 'a transaction was open'
  }

  /** True if these bytes only say goodbye. */
  isGoodbye(bytes: Uint8Array): boolean {
    return bytes.length === 5 && bytes[0] === 0x58
  }

  #written(type: string, message: Buffer | undefined): void {
    if (this.#startup === undefined) {
      if (message !== undefined && !isEncryptionRequest(message))
        this.#startup = Buffer.from(message)
      return
    }
    if (type === 'p' && this.#status === undefined) {
      this.#password = Buffer.from(message?.subarray(5) ?? [])
      const text = this.#password.toString('latin1')
      const first = /^SCRAM-SHA-256\0[^]{4}[ny],[^,]*,(n=[^]*)$/.exec(text)
      if (first) this.#scram.clientFirst = first[1] ?? ''
      else if (text.startsWith('c=')) this.#scram.clientFinal = text
      return
    }
    this.#round.add(type, message)
    if (type !== 'Q' && type !== 'S' && type !== 'F') return
    this.#open.push(this.#round)
    this.#round = new Round()
  }

  #answered(type: string, message: Buffer | undefined): void {
    if (type === 'R' && message !== undefined) {
      const code = message.readUInt32BE(5)
      if (code === 5) this.#salt = Buffer.from(message.subarray(9))
      if (code === 11) this.#scram.serverFirst = message.toString('latin1', 9)
    } else if (type === 'E' && this.#open[0]) this.#open[0].hasFailed = true
    // An error in a round does not undo what the messages before it prepared.
    else if (type === '1' || type === '3') {
      const statement = this.#open[0]?.statements.shift()
      if (statement === undefined || statement.name === '') return
      const key = `statement ${statement.name}`
      if (statement.message) this.#repeat(key, Buffer.concat([statement.message, SYNC]))
      else this.#repeated.delete(key)
    } else if (type === 'Z') {
      const round = this.#status === undefined ? undefined : this.#open.shift()
      this.#status = message?.[5]
      if (round !== undefined && !round.hasFailed) this.#completed(round)
    }
  }

  /** Remembers settings, which a new connection has to repeat. */
  #completed(round: Round): void {
    const state = round.isTooLong ? TOO_LONG : sessionState(round.texts)
    if (state === undefined) return
    if (state !== 'settings') this.#obstacle ??= state
    else if (this.#status !== IDLE) this.#obstacle ??= 'a transaction changed its settings'
    else {
      this.#repeat(`settings ${(this.#count += 1)}`, Buffer.concat(round.messages))
      if (round.texts.some((text) => /\blisten\b/i.test(text))) this.isListening = true
    }
  }

  #repeat(key: string, bytes: Buffer): void {
    this.#repeatedBytes += bytes.length
    if (this.#repeatedBytes > REPEATED_MAX_BYTES) this.#obstacle ??= TOO_LONG
    this.#repeated.delete(key)
    this.#repeated.set(key, bytes)
  }

  // ── the new connection ────────────────────────────────────────────────────

  /**
   * Signs in on a connected socket and sets up the session. `onReady` gets bytes of the server that
   * already belong to the agent.
   */
  signIn(real: net.Socket, onReady: (rest: Buffer) => void, onFailed: (why: string) => void): void {
    const again = [...this.#repeated.values()]
    let expected = 1 + again.length
    const scram = new ScramExchange(this.passwords)
    const messages = new Messages(false, (type, message = Buffer.alloc(9)) => {
      if (type === 'E') {
        // As in `password authentication failed for user "me"`.
        const fields = message.toString('utf8', 5).split('\0')
        const text = fields.find((field) => field.startsWith('M'))?.slice(1)
        return over(() => onFailed(text ?? 'the server refused it'))
      }
      if (type === 'R') {
        const answer = this.#authenticate(message, scram)
        if (answer === undefined) over(() => onFailed(NO_PASSWORD))
        else if (answer.length > 0) real.write(answer)
      } else if (type === 'Z') {
        if (expected === 1 + again.length) for (const bytes of again) real.write(bytes)
        expected -= 1
        if (expected === 0) over(() => onReady(Buffer.from(messages.rest)))
      }
    })
    const read = (data: Buffer): void => messages.push(data)
    const over = (then: () => void): void => {
      real.off('data', read)
      messages.stop()
      then()
    }
    real.on('data', read)
    real.write(this.#startup ?? '')
  }

  /** The answer to an authentication request: empty if none is needed, undefined if it is unknown. */
  #authenticate(request: Buffer, scram: ScramExchange): Buffer | undefined {
    const data = request.subarray(9)
    const code = request.readUInt32BE(5)
    if (code === 0) return Buffer.alloc(0)
    const password = this.#knownPassword()
    if (password === undefined) return undefined
    if (code === 3) return passwordMessage(`${password}\0`)
    if (code === 5) return passwordMessage(`${this.#md5(password, data)}\0`)
    if (code === 10 && data.toString('latin1').split('\0').includes('SCRAM-SHA-256')) {
      scram.clientFirst = `n=*,r=${randomBytes(18).toString('base64')}`
      const first = Buffer.from(`n,,${scram.clientFirst}`)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(first.length)
      return passwordMessage(Buffer.concat([Buffer.from('SCRAM-SHA-256\0'), length, first]))
    }
    if (code === 11) scram.serverFirst = data.toString('latin1')
    else if (code !== 12) return undefined
    const unproved = `c=biws,${/^r=[^,]+/.exec(scram.serverFirst)?.[0] ?? ''}`
    const proofs = scramProofs(scram, unproved, password)
    if (proofs === undefined) return undefined
    if (code === 11) return passwordMessage(`${unproved},p=${proofs.client.toString('base64')}`)
    // A server that does not know the password is not the one of the recording.
    return data.toString() === `v=${proofs.server.toString('base64')}` ? Buffer.alloc(0) : undefined
  }

  /** The password with which the agent signed in to the tape. */
  #knownPassword(): string | undefined {
    const sent = this.#password.toString().replace(/\0$/, '')
    if (this.#scram.clientFinal !== '') return this.#scram.password()
    if (this.#salt.length === 0) return sent === '' ? undefined : sent
    for (const password of this.passwords())
      if (this.#md5(password, this.#salt) === sent) return password
    return undefined
  }

  #md5(password: string, salt: Buffer): string {
    const fields = this.#startup?.toString('utf8', 8).split('\0') ?? []
    const user = fields[fields.indexOf('user') + 1] ?? ''
    const md5 = (...parts: (string | Buffer)[]): string => {
      const hash = createHash('md5')
      for (const part of parts) hash.update(part)
      return hash.digest('hex')
    }
    return `md5${md5(md5(password, user), salt)}`
  }
}

const TOO_LONG = 'its statements are too long to repeat'
/** Asks a PostgreSQL server to start TLS on a connection. */
export function requestTls(
  plain: net.Socket,
  onReady: () => void,
  onFailed: (why: string) => void,
): void {
  plain.once('connect', () => plain.write(TLS_REQUEST))
  plain.once('data', (answer: Buffer) => {
    if (answer.toString() === 'S') onReady()
    else onFailed('the server no longer supports TLS')
  })
}

const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const NO_PASSWORD =
  'the password of its sign-in is neither in the environment nor in a client of the package pg, or the server asks for another kind of sign-in'

/** Prepares a statement, or closes it if there is no message. Unnamed statements are not repeated. */
interface Statement {
  readonly name: string
  readonly message?: Buffer
}

/** The messages of a client up to the point where the server answers with its state. */
class Round {
  readonly messages: Buffer[] = []
  readonly texts: string[] = []
  /** Prepared or closed, without an answer. */
  readonly statements: Statement[] = []
  isTooLong = false
  hasFailed = false

  add(type: string, message: Buffer | undefined): void {
    if (message === undefined) {
      if (type === 'P' || type === 'Q') this.isTooLong = true
      if (type === 'P') this.statements.push({ name: '' })
      return
    }
    // The data and the end of a COPY, which belong to the round before.
    if (['d', 'c', 'f'].includes(type)) return
    this.messages.push(message)
    if (!['Q', 'P', 'C'].includes(type)) return
    const [first = '', second = ''] = message.toString('utf8', 5).split('\0', 2)
    if (type === 'Q') this.texts.push(first)
    else if (type === 'C') this.statements.push({ name: /^S(.*)/s.exec(first)?.[1] ?? '' })
    else {
      this.texts.push(second)
      this.statements.push({ name: first, message })
    }
  }
}

const SETTING =
  /^(set\s+(?!local\b|transaction\b|constraints\b)|reset\b|(un)?listen\b|discard\b|prepare\s+(?!transaction\b)|deallocate\b)/i
const LASTING_CONFIG = /\bset_config\s*\((?![^()]*,\s*true\s*\))/i
const ONLY_CONFIG = /^select\s+((pg_catalog\.)?set_config\s*\([^()]*\)(\s+as\s+\w+)?\s*(,\s*|$))+$/i
const HARMLESS = /^(show\b|$)/i
const NOT_REPEATED = [
  [/\b(create|into)\s+((local|global|or\s+replace)\s+)*temp(orary)?\b/i, 'it has temporary tables'],
  [/\bpg_(try_)?advisory_lock/i, 'it has advisory locks'],
  [/\bdeclare\b[^;]*\bwith\s+hold\b/i, 'it has an open cursor'],
] as const

/** State that statements leave in their session: `settings` can be repeated, anything else cannot. */
function sessionState(texts: readonly string[]): string | undefined {
  const all = texts
    .join(';')
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, ' ')
  for (const [pattern, why] of NOT_REPEATED) if (pattern.test(all)) return why
  const statements = all.split(';').map((text) => text.trim())
  const isLasting = (text: string): boolean => SETTING.test(text) || LASTING_CONFIG.test(text)
  if (!statements.some(isLasting)) return undefined
  return statements.every(
    (text) => SETTING.test(text) || ONLY_CONFIG.test(text) || HARMLESS.test(text),
  )
    ? 'settings'
    : 'a setting was changed together with other statements'
}

function passwordMessage(content: string | Buffer): Buffer {
  const payload = Buffer.from(content)
  const header = Buffer.from('p\0\0\0\0')
  header.writeUInt32BE(payload.length + 4, 1)
  return Buffer.concat([header, payload])
}

/** Splits one direction of a connection into messages. */
class Messages {
  rest = Buffer.alloc(0)
  /** Bytes of a long message that are still to come. */
  #skipped = 0
  #isOver = false
  isBroken = false

  constructor(
    /** True for the client, whose first messages have no type. */
    public isStartup: boolean,
    /** `message` is undefined if it is too long. */
    readonly on: (type: string, message: Buffer | undefined) => void,
  ) {}

  /** True in the middle of a message. */
  get isInside(): boolean {
    return this.rest.length > 0 || this.#skipped > 0
  }

  stop(): void {
    this.#isOver = true
  }

  push(bytes: Uint8Array): void {
    if (this.isBroken) return
    const skipped = Math.min(this.#skipped, bytes.length)
    this.#skipped -= skipped
    this.rest = Buffer.concat([this.rest, bytes.subarray(skipped)])
    while (!this.#isOver && this.#next());
  }

  #next(): boolean {
    const { rest, isStartup } = this
    const lengthAt = isStartup ? 0 : 1
    if (rest.length < (isStartup ? 8 : 5)) return false
    const size = lengthAt + rest.readUInt32BE(lengthAt)
    const type = isStartup ? '' : String.fromCharCode(rest[0] ?? 0)
    const isValid = isStartup
      ? size >= 8 &&
        size <= MESSAGE_MAX_BYTES &&
        (isEncryptionRequest(rest) || rest.readUInt16BE(4) === PROTOCOL_3)
      : size >= 5 && /[A-Za-z0-9]/.test(type)
    if (!isValid) {
      this.isBroken = true
      this.rest = Buffer.alloc(0)
      return false
    }
    const isStored = size <= MESSAGE_MAX_BYTES
    if (isStored && rest.length < size) return false
    this.rest = rest.subarray(Math.min(size, rest.length))
    this.#skipped = Math.max(0, size - rest.length)
    const message = isStored ? rest.subarray(0, size) : undefined
    if (isStartup && message !== undefined && !isEncryptionRequest(message)) this.isStartup = false
    this.on(type, message)
    return true
  }
}
