import { createHmac, randomBytes } from 'node:crypto'
import path from 'node:path'
import { errors } from '../errors.js'
import { createPrivateFile } from './machine-key.js'
import { natives } from '../kernel/natives.js'
import { disk } from '../overlay/disk.js'
import { keyFileOf } from './signing-key.js'
import { digitsOf, hasLuhnDigit, ibanRest } from './redaction-rules.js'

const KEY_BYTES = 32

/**
 * The secret behind pseudonyms and vaults. Never on a tape: it is in the user's state folder, or in
 * `RETAKE_VAULT_KEY`, for build servers and people who were given the key.
 */
export class VaultKey {
  /** Identifies the key without revealing anything about it. */
  readonly id: string

  private constructor(
    readonly secret: Buffer,
    /** True if the user provided this key for this command. */
    readonly isGiven: boolean,
  ) {
    this.id = this.derive('id').toString('hex').slice(0, 16)
  }

  /** The key of this user; undefined if there is none. Throws `VAULT_KEY_INVALID`. */
  static own(): VaultKey | undefined {
    const given = natives.env[VARIABLE]
    if (given) return VaultKey.read(given, VARIABLE)
    let stored: string
    try {
      stored = disk.readFileSync(vaultKeyFile(), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw errors.VAULT_KEY_INVALID(vaultKeyFile(), error)
    }
    return VaultKey.read(stored, vaultKeyFile())
  }

  /** Like `own`, but creates a missing key. */
  static ownOrNew(): VaultKey {
    const known = VaultKey.own()
    if (known !== undefined) return known
    const file = vaultKeyFile()
    try {
      createPrivateFile(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`)
    } catch (error) {
      throw errors.VAULT_KEY_INVALID(file, error)
    }
    return VaultKey.read(disk.readFileSync(file, 'utf8'), file)
  }

  static read(text: string, source: string): VaultKey {
    const trimmed = text.trim()
    const isHex = /^[\da-f]{64}$/i.test(trimmed)
    if (!isHex && !/^[\w+/]{43}=$/.test(trimmed)) throw errors.VAULT_KEY_INVALID(source)
    return new VaultKey(Buffer.from(trimmed, isHex ? 'hex' : 'base64'), source === VARIABLE)
  }

  derive(purpose: string): Buffer {
    return createHmac('sha256', this.secret).update(`retake ${purpose}`).digest()
  }

  /**
   * A value of the same length and shape: letters become letters, digits become digits, everything
   * else stays. The same value has the same pseudonym in all runs, and a value that differs only in
   * case or (for numbers) in separators has the corresponding one. Card and account numbers keep
   * valid check digits.
   */
  pseudonym(kind: string, value: string): string {
    const isNumber = kind === 'card' || kind === 'iban' || kind === 'phone'
    const lower = value.toLowerCase()
    const same = isNumber ? lower.replaceAll(/[^a-z\d]/g, '') : lower
    const noise = this.#noise(`${kind}\0${same}`)
    if (kind === 'ip') return value.replaceAll(/\d+/g, (octet) => octetLike(octet, noise))
    let position = 0
    const made = Array.from(value, (character) => {
      if (!/[\p{L}\p{N}]/u.test(character)) return character
      position += 1
      return characterLike(character, noise, position === 1)
    }).join('')
    if (kind === 'card') return withLuhnDigit(value.charAt(0) + made.slice(1))
    if (kind === 'iban') return withIbanDigits(value.slice(0, 2) + made.slice(2))
    return made
  }

  /** Random numbers below a limit, deterministic for a text. */
  #noise(text: string): (below: number) => number {
    const key = this.derive('pseudonyms')
    let block = Buffer.alloc(0)
    let [blocks, at] = [0, 0]
    return (below) => {
      if (at + 4 > block.length) {
        block = createHmac('sha256', key).update(`${blocks++}\0${text}`).digest()
        at = 0
      }
      const drawn = block.readUInt32LE(at) % below
      at += 4
      return drawn
    }
  }
}

const VARIABLE = 'RETAKE_VAULT_KEY'
export const vaultKeyFile = (): string => path.join(path.dirname(keyFileOf('seal')), 'vault.key')

/** Letters by their length in UTF-8 bytes, so that byte counts stay right. */
const LETTERS_OF_TWO = 'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ'

function characterLike(
  character: string,
  noise: (below: number) => number,
  isFirst: boolean,
): string {
  // A JSON number must not start with 0.
  if (/\d/.test(character))
    return isFirst && character !== '0' ? String(1 + noise(9)) : String(noise(10))
  const bytes = Buffer.byteLength(character)
  const lower =
    bytes === 1
      ? String.fromCodePoint(0x61 + noise(26))
      : bytes === 2
        ? LETTERS_OF_TWO.charAt(noise(LETTERS_OF_TWO.length))
        : String.fromCodePoint(bytes === 3 ? 0x4e00 + noise(0x5000) : 0x2_00_00 + noise(0xa000))
  return character === character.toLowerCase() ? lower : lower.toUpperCase()
}

function octetLike({ length }: string, noise: (below: number) => number): string {
  if (length === 1) return String(noise(10))
  return String(length === 2 ? 10 + noise(90) : 100 + noise(156))
}

/** Sets the check digit of a card number. */
function withLuhnDigit(card: string): string {
  const last = card.search(/\d\D*$/)
  for (let digit = 0; digit < 10; digit++) {
    const candidate = card.slice(0, last) + digit + card.slice(last + 1)
    if (hasLuhnDigit(digitsOf(candidate))) return candidate
  }
  return card
}

function withIbanDigits(iban: string): string {
  const open = `${iban.slice(0, 2)}00${iban.slice(4)}`
  const check = 98 - ibanRest(open.replaceAll(' ', ''))
  return open.slice(0, 2) + String(check).padStart(2, '0') + open.slice(4)
}
