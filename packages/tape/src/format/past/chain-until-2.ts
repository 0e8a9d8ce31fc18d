import type { HashChain } from '../chain.js'
import type { Sha256, TapePlatform } from '../platform.js'
import { invariant } from '../errors.js'

/**
 * The hash chain of formats 1 and 2, to verify their tapes and to name places on
 * them. Bodies, and the light events before a heavy one, were hashed on their own
 * first. Nobody writes it any more.
 */
export class ChainUntil2 implements HashChain {
  readonly #platform: TapePlatform
  #head: string
  #lights: Sha256 | undefined
  #lightsHex: string | undefined

  constructor(platform: TapePlatform, head = '') {
    this.#platform = platform
    this.#head = head
  }

  get head(): string {
    return this.#head
  }

  addLight(text: Uint8Array, body: Uint8Array): void {
    invariant(this.#lightsHex === undefined, 'a light event came after its digest was taken')
    this.#lights ??= this.#platform.createSha256()
    this.#lights.update(text)
    this.#lights.update(`\n${body.length}\n`)
    this.#lights.update(body)
  }

  addHeavy(text: Uint8Array, size: number, body: Uint8Array | string): string {
    const link = this.#platform.createSha256()
    link.update(`${this.#head}\n${this.lightsDigest()}\n`)
    link.update(text)
    link.update(`\n${size}\n${typeof body === 'string' ? body : ''}`)
    this.#head = link.hex()
    this.#lights = undefined
    this.#lightsHex = undefined
    return this.#head
  }

  lightsDigest(): string {
    this.#lightsHex ??= this.#lights?.hex() ?? ''
    return this.#lightsHex
  }

  digest(): string {
    const lights = this.lightsDigest()
    return lights === '' ? this.#head : this.#platform.sha256(`${this.#head}\n${lights}`)
  }
}
