import type { Sha256, TapeDoor } from './door.js'
import { invariant } from './errors.js'

const encoder = new TextEncoder()

/**
 * The hash chain of one run. Each heavy event links to the one before and to a
 * digest of all light events between them, so that removing, adding, moving or
 * changing any event breaks every later link. It covers only what happened
 * (event text, body), never how it is stored.
 *
 * Light events after the last heavy one are not linked yet; until then only
 * their CRC protects them.
 */
export class Chain {
  readonly #door: TapeDoor
  readonly #lights: LightDigest
  #head = ''
  #lightsHex: string | undefined

  constructor(door: TapeDoor) {
    this.#door = door
    this.#lights = new LightDigest(door)
  }

  /** Hash of the last heavy event; empty before the first. */
  get head(): string {
    return this.#head
  }

  addLight(text: string, body: Uint8Array): void {
    invariant(this.#lightsHex === undefined, 'a light event came after its digest was taken')
    this.#lights.add(text, body)
  }

  /** Digest of the light events since the last heavy one; empty when there are none. */
  lightsDigest(): string {
    this.#lightsHex ??= this.#lights.take()
    return this.#lightsHex
  }

  /** Adds a heavy event and answers with its hash. `sha` is empty when there is no body. */
  addHeavy(text: string, size: number, sha: string): string {
    const lights = this.lightsDigest()
    this.#head = this.#door.sha256(`${this.#head}\n${lights}\n${text}\n${size}\n${sha}`)
    this.#lightsHex = undefined
    return this.#head
  }
}

/** sha256 over `<event> LF <body length> LF <body>` of each light event; gathers small pieces, because hashing one by one costs more than hashing. */
class LightDigest {
  readonly #door: TapeDoor
  readonly #gathered = new Uint8Array(1 << 15)
  #used = 0
  #sha: Sha256 | undefined

  constructor(door: TapeDoor) {
    this.#door = door
  }

  add(text: string, body: Uint8Array): void {
    const head = `${text}\n${body.length}\n`
    if (this.#used + head.length * 3 + body.length > this.#gathered.length) {
      this.#flush()
      if (head.length * 3 + body.length > this.#gathered.length) {
        this.#sha?.update(head)
        this.#sha?.update(body)
        return
      }
    }
    this.#used += encoder.encodeInto(head, this.#gathered.subarray(this.#used)).written
    this.#gathered.set(body, this.#used)
    this.#used += body.length
  }

  /** The digest so far, empty when nothing was added; starts over. */
  take(): string {
    if (this.#used === 0 && this.#sha === undefined) return ''
    const gathered = this.#gathered.subarray(0, this.#used)
    if (this.#sha === undefined) {
      this.#used = 0
      return this.#door.sha256(gathered)
    }
    this.#flush()
    const hex = this.#sha.hex()
    this.#sha = undefined
    return hex
  }

  #flush(): void {
    this.#sha ??= this.#door.createSha256()
    this.#sha.update(this.#gathered.subarray(0, this.#used))
    this.#used = 0
  }
}
