import type { TapePlatform } from './platform.js'
import { putAscii, putNumber, digitCount } from './put-text.js'

/** Bodies of heavy events up to this size are linked directly, longer ones by their sha256. */
export const SHORT_BODY_MAX_BYTES = 511

/** An event in the form that its link covers. */
export interface LinkedEvent {
  readonly text: Uint8Array
  readonly size: number
  /** The body; for a heavy event with a long body, its sha256. */
  readonly body: Uint8Array | string
}

/** Everything that the hash of a heavy event covers. */
export interface ChainLink {
  /** The previous link, or the hash of light events that were too many to gather. */
  readonly from: string
  readonly lights: readonly LinkedEvent[]
  readonly event: LinkedEvent
}

/** The link of a heavy event; `from` is the previous link, `lights` the events between them. */
export function chainLink(
  platform: TapePlatform,
  from: string,
  lights: readonly LinkedEvent[],
  event: LinkedEvent,
): ChainLink {
  let link = { from, lights: [] as LinkedEvent[] }
  let used = from.length + 1
  for (const light of lights) {
    link.lights.push(light)
    used += light.text.length + digitCount(light.size) + 2 + light.body.length
    if (used <= GATHERED_MAX_BYTES) continue
    link = { from: hashOf(platform, link.from, link.lights), lights: [] }
    used = link.from.length + 1
  }
  return { ...link, event }
}

/** Hash of a heavy event, from everything it covers. */
export const linkHash = (platform: TapePlatform, { from, lights, event }: ChainLink): string =>
  hashOf(platform, from, [...lights, event])

function hashOf(platform: TapePlatform, from: string, events: readonly LinkedEvent[]): string {
  const sha = platform.createSha256()
  sha.update(`${from}\n`)
  for (const { text, size, body } of events) {
    sha.update(text)
    sha.update(`\n${size}\n`)
    sha.update(body)
  }
  return sha.hex()
}

/** Above this size, the gathered bytes are reduced to one hash. */
const GATHERED_MAX_BYTES = 1 << 15
/** Grows as needed: most runs are short, and a server records many concurrently. */
const GATHERED_FIRST_BYTES = 1 << 12
const NEWLINE = 10

/**
 * The hash chain of one run. Each heavy event links to the previous one and to all light events
 * between them, so that removing, adding, moving or changing any event breaks every later link. It
 * covers only what happened (event text, body), not how it is stored. Light events after the last
 * heavy one are not linked yet; until then only their CRC protects them.
 *
 * A link is one sha256 over everything since the previous link. This is cheapest, because calling a
 * hash takes longer than hashing a short event. So everything that a link will cover is gathered:
 * the head, the light events, and finally the heavy one.
 */
export class Chain {
  readonly #platform: TapePlatform
  #gathered = new Uint8Array(GATHERED_FIRST_BYTES)
  #used = 0
  #head: string
  #hasLights = false

  constructor(platform: TapePlatform, head = '') {
    this.#platform = platform
    this.#head = head
    this.#startFrom(head)
  }

  /** Hash of the last heavy event; empty before the first. */
  get head(): string {
    return this.#head
  }

  addLight(text: Uint8Array, body: Uint8Array): void {
    this.#hasLights = true
    if (!this.#gather(text, body.length, body))
      this.#startFrom(this.#hashWith(text, body.length, body))
  }

  /** Adds a heavy event and returns its hash. A long body is given as its sha256. */
  addHeavy(text: Uint8Array, size: number, body: Uint8Array | string): string {
    this.#head = this.#gather(text, size, body) ? this.#hash() : this.#hashWith(text, size, body)
    this.#hasLights = false
    this.#startFrom(this.#head)
    return this.#head
  }

  /** Digest of the light events since the last heavy one; empty if there are none. */
  lightsDigest(): string {
    return this.#hasLights ? this.#hash() : ''
  }

  /** Identifies the run so far: its head, and the light events after it. */
  digest(): string {
    return this.#hasLights ? this.#hash() : this.#head
  }

  #startFrom(hash: string): void {
    this.#used = putAscii(hash, this.#gathered, 0)
    this.#gathered[this.#used++] = NEWLINE
  }

  /** Does nothing and returns false if the event does not fit. */
  #gather(text: Uint8Array, size: number, body: Uint8Array | string): boolean {
    const length = text.length + digitCount(size) + 2 + body.length
    if (this.#used + length > GATHERED_MAX_BYTES) return false
    if (this.#used + length > this.#gathered.length) {
      const larger = new Uint8Array(Math.min(GATHERED_MAX_BYTES, 2 * (this.#used + length)))
      larger.set(this.#gathered.subarray(0, this.#used))
      this.#gathered = larger
    }
    const gathered = this.#gathered
    gathered.set(text, this.#used)
    let at = this.#used + text.length
    gathered[at++] = NEWLINE
    at = putNumber(size, gathered, at)
    gathered[at++] = NEWLINE
    if (typeof body === 'string') putAscii(body, gathered, at)
    else if (body.length > 0) gathered.set(body, at)
    this.#used += length
    return true
  }

  #hash(): string {
    return this.#platform.sha256(this.#gathered.subarray(0, this.#used))
  }

  #hashWith(text: Uint8Array, size: number, body: Uint8Array | string): string {
    const sha = this.#platform.createSha256()
    sha.update(this.#gathered.subarray(0, this.#used))
    sha.update(text)
    sha.update(`\n${size}\n`)
    sha.update(body)
    return sha.hex()
  }
}
