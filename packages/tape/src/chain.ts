import type { Sha256, TapeDoor } from './door.js'
import { invariant } from './errors.js'

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
  #head = ''
  #lights: Sha256 | undefined
  #lightsDigest: string | undefined

  constructor(door: TapeDoor) {
    this.#door = door
  }

  /** Hash of the last heavy event; empty before the first. */
  get head(): string {
    return this.#head
  }

  addLight(text: string, body: Uint8Array): void {
    invariant(this.#lightsDigest === undefined, 'a light event came after its digest was taken')
    this.#lights ??= this.#door.createSha256()
    this.#lights.update(`${text}\n${body.length}\n`)
    if (body.length > 0) this.#lights.update(body)
  }

  /** Digest of the light events since the last heavy one; empty when there are none. */
  lightsDigest(): string {
    this.#lightsDigest ??= this.#lights?.hex() ?? ''
    return this.#lightsDigest
  }

  /** Adds a heavy event and answers with its hash. `sha` is empty when there is no body. */
  addHeavy(text: string, size: number, sha: string): string {
    const lights = this.lightsDigest()
    this.#head = this.#door.sha256(`${this.#head}\n${lights}\n${text}\n${size}\n${sha}`)
    this.#lights = undefined
    this.#lightsDigest = undefined
    return this.#head
  }
}
