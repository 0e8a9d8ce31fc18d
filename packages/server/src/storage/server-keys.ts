import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { isSecret } from '@retake/web'
import { serverErrors } from '../edge/errors.js'
import type { Settings } from '../edge/settings.js'

/** Purposes of keys. Each has its own key, so that one key reveals nothing about another. */
type KeyUse = 'sessions' | 'blobs' | 'links' | 'database' | 'worker' | 'models' | 'approvals'

/** Tokens that only this server can create: parts without dots, and a signature. */
export interface SignedTokens {
  make(...parts: readonly (string | number)[]): string
  /** The parts; undefined if the signature is invalid. */
  read(token: string): readonly string[] | undefined
}

/**
 * The secret of a server, stored in `server.json` in the data folder. All other keys are derived from
 * it. Without it, stored runs cannot be decrypted.
 */
export class ServerKeys {
  readonly #secret: Buffer

  private constructor(
    secret: Buffer,
    readonly file: string,
    /** True if the secret was just created. */
    readonly isNew: boolean,
  ) {
    this.#secret = secret
  }

  static fileIn = (data: string): string => path.join(data, 'server.json')

  static existsIn = (data: string): boolean => existsSync(ServerKeys.fileIn(data))

  /** Reads the secret, or creates one on first start. */
  static open(data: string): ServerKeys {
    const file = ServerKeys.fileIn(data)
    const found = readSecret(file)
    if (found !== undefined) return new ServerKeys(found, file, false)
    const secret = randomBytes(32)
    const fd = openSync(file, 'wx', 0o600)
    try {
      writeFileSync(fd, `${JSON.stringify({ version: 1, secret: secret.toString('base64') })}\n`)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    return new ServerKeys(secret, file, true)
  }

  /** Derives a key of 32 bytes. `of` distinguishes keys of the same purpose. */
  key(use: KeyUse, of = ''): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `retake ${use} ${of}`, 32))
  }

  tokens(use: KeyUse, of: string): SignedTokens {
    const key = this.key(use, of)
    const make: SignedTokens['make'] = (...parts) => {
      const content = parts.join('.')
      return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`
    }
    const read: SignedTokens['read'] = (token) => {
      const parts = token.split('.').slice(0, -1)
      return isSecret(token, make(...parts)) ? parts : undefined
    }
    return { make, read }
  }
}

function readSecret(file: string): Buffer | undefined {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw serverErrors.SERVER_FILE_DAMAGED(file, error)
  }
  chmodSync(file, 0o600)
  try {
    const { version, secret } = JSON.parse(content) as { version?: unknown; secret?: unknown }
    const bytes = Buffer.from(typeof secret === 'string' ? secret : '', 'base64')
    if (version !== 1 || bytes.length !== 32)
      throw new Error('It does not contain a 32-byte secret.')
    return bytes
  } catch (error) {
    throw serverErrors.SERVER_FILE_DAMAGED(file, error)
  }
}

/** The token of workers, from the settings or derived from the server's keys. */
export const workerToken = ({ workerToken: chosen }: Settings, keys: ServerKeys): string =>
  chosen ?? `rtw_${keys.key('worker', 'token').toString('base64url')}`

/** Like `workerToken`, whether or not the server is running. Creates missing keys. */
export function readWorkerToken(settings: Settings): string {
  mkdirSync(settings.data, { recursive: true, mode: 0o711 })
  return workerToken(settings, ServerKeys.open(settings.data))
}
