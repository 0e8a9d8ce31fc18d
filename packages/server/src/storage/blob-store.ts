import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { buffer, json } from 'node:stream/consumers'
import { reason, RetakeError } from '@retake/engine/errors'
import { S3mini } from 's3mini'
import { explainFailure, serverErrors } from '../edge/errors.js'
import type { Settings } from '../edge/settings.js'
import type { ServerKeys } from './server-keys.js'

/** Stores objects in a folder or a bucket. Keys are paths of plain characters. */
interface ObjectStore {
  /** Writes an object unless the key exists. */
  putNew(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>
  put(key: string, bytes: Uint8Array): Promise<void>
  /** Undefined if the object does not exist. */
  get(key: string): Promise<AsyncIterable<Uint8Array> | undefined>
  has(key: string): Promise<boolean>
  remove(key: string): Promise<void>
  list(prefix: string): Promise<string[]>
}

const KEY = /^[\w-]+(?:[./][\w-]+)*$/

function checkKey(key: string): string {
  if (!KEY.test(key)) throw new Error(`"${key}" is not a valid object key`)
  return key
}

/** Objects as files. A file gets its name only once it is complete and on disk. */
class FolderStore implements ObjectStore {
  constructor(private readonly folder: string) {}

  readonly #path = (key: string): string => path.join(this.folder, checkKey(key))

  async putNew(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const draft = await this.#draft(key, bytes)
    try {
      await link(draft, this.#path(key))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      await rm(draft, { force: true })
    }
    await syncToDisk(path.dirname(this.#path(key)))
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const draft = await this.#draft(key, one(bytes))
    await rename(draft, this.#path(key))
    await syncToDisk(path.dirname(this.#path(key)))
  }

  async #draft(key: string, bytes: AsyncIterable<Uint8Array>): Promise<string> {
    const file = this.#path(key)
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`
    const handle = await open(draft, 'wx', 0o600)
    try {
      // Unlike `write`, this fails if only a part fits on the disk.
      for await (const chunk of bytes) await handle.appendFile(chunk)
      await handle.sync()
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    } finally {
      await handle.close()
    }
    return draft
  }

  async get(key: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return (await this.has(key)) ? createReadStream(this.#path(key)) : undefined
  }

  async has(key: string): Promise<boolean> {
    return stat(this.#path(key)).then(
      () => true,
      () => false,
    )
  }

  async remove(key: string): Promise<void> {
    await rm(this.#path(key), { force: true })
  }

  async list(prefix: string): Promise<string[]> {
    const folder = path.join(this.folder, checkKey(prefix))
    const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    return names
      .filter((each) => each.isFile() && !each.name.endsWith('.tmp'))
      .map((each) =>
        path.relative(this.folder, path.join(each.parentPath, each.name)).replaceAll(path.sep, '/'),
      )
  }
}

/** Waits until a file or folder is on disk. */
export async function syncToDisk(location: string): Promise<void> {
  const handle = await open(location, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Part size of a multipart upload; S3 requires at least 5 MB. */
const PART_BYTES = 8 << 20

/** Timeout of a request to the bucket. */
const ANSWER_MS = 60_000

/** Objects in a bucket, which is not trusted: content that is read back is authenticated. */
class BucketStore implements ObjectStore {
  readonly #s3: S3mini

  constructor(
    settings: Settings,
    url: URL,
    private readonly answerMs = ANSWER_MS,
  ) {
    this.#s3 = new S3mini({
      accessKeyId: settings.s3KeyId ?? '',
      secretAccessKey: settings.s3Secret ?? '',
      endpoint: url.href,
      region: settings.s3Region,
    })
  }

  async putNew(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    if (await this.has(key)) return
    const parts = inParts(bytes)
    const first = await parts.next()
    const second = await parts.next()
    const head = first.done === true ? new Uint8Array(0) : first.value
    if (second.done === true) return this.put(key, head)
    const s3 = this.#s3
    const upload = await this.#inTime(s3.getMultipartUploadId(checkKey(key)))
    const send = (part: Uint8Array, number: number) =>
      this.#inTime(s3.uploadPart(key, upload, Buffer.from(part), number))
    let length = head.length + second.value.length
    try {
      const sent = [await send(head, 1), await send(second.value, 2)]
      for await (const part of parts) {
        sent.push(await send(part, sent.length + 1))
        length += part.length
      }
      await this.#inTime(s3.completeMultipartUpload(key, upload, sent))
    } catch (error) {
      // Parts of an unfinished upload would still cost money.
      await this.#inTime(s3.abortMultipartUpload(key, upload)).catch(() => {})
      throw error
    }
    await this.#checkStored(key, length)
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const answer = await this.#inTime(this.#s3.putObject(checkKey(key), Buffer.from(bytes)))
    if (!answer.ok) throw new Error(`S3 answered ${answer.status} to a write`)
    await this.#checkStored(key, bytes.length)
  }

  /** Verifies a write, because some stores lose writes that they confirmed. */
  async #checkStored(key: string, length: number): Promise<void> {
    const isThere = await this.has(key)
    if (!isThere || (await this.#inTime(this.#s3.getContentLength(key))) !== length)
      throw new Error('S3 confirmed a write but does not have the object')
  }

  async get(key: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    const answer = await this.#inTime(this.#s3.getObjectResponse(checkKey(key)))
    return answer?.body === null || answer === null ? undefined : answer.body
  }

  async has(key: string): Promise<boolean> {
    return (await this.#inTime(this.#s3.objectExists(checkKey(key)))) === true
  }

  async remove(key: string): Promise<void> {
    await this.#inTime(this.#s3.deleteObject(checkKey(key)))
  }

  async list(prefix: string): Promise<string[]> {
    const found = await this.#inTime(this.#s3.listObjects('/', `${checkKey(prefix)}/`))
    return (found ?? []).map((each) => each.Key)
  }

  async #inTime<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`S3 did not answer within ${this.answerMs / 1000} s`)
      timer = setTimeout(() => reject(error), this.answerMs)
    })
    return Promise.race([answer, late]).finally(() => clearTimeout(timer))
  }
}

async function* inParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let waiting: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    waiting.push(chunk)
    length += chunk.length
    if (length < PART_BYTES) continue
    yield Buffer.concat(waiting)
    waiting = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(waiting)
  return undefined
}

const MAGIC = Buffer.from('RTKB1\n')
const FRAME = 64 << 10
const TAG = 16

/**
 * Encrypts in frames with AES-256-GCM. The nonce contains the frame number and a flag for the last
 * frame, so frames cannot be moved, repeated or cut off.
 */
async function* encrypt(
  key: Buffer,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(7)
  yield Buffer.concat([MAGIC, salt])
  let number = 0
  const seal = (plain: Uint8Array, isLast: boolean): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(salt, number++, isLast))
    cipher.setAAD(Buffer.from(name))
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }
  let waiting = Buffer.alloc(0)
  for await (const chunk of bytes) {
    waiting = waiting.length === 0 ? Buffer.from(chunk) : Buffer.concat([waiting, chunk])
    let at = 0
    // The last frame is sealed differently, so a full frame waits for more data.
    while (waiting.length - at > FRAME) {
      yield seal(waiting.subarray(at, at + FRAME), false)
      at += FRAME
    }
    waiting = waiting.subarray(at)
  }
  yield seal(waiting, true)
}

async function* decrypt(
  key: Buffer,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let waiting = Buffer.alloc(0)
  let salt: Buffer | undefined
  let number = 0
  const unseal = (sealed: Buffer, isLast: boolean): Buffer => {
    const decipher = createDecipheriv(
      'aes-256-gcm',
      key,
      nonce(salt ?? Buffer.alloc(7), number++, isLast),
    )
    decipher.setAAD(Buffer.from(name))
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG))
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG)), decipher.final()])
  }
  const head = MAGIC.length + 7
  for await (const chunk of bytes) {
    waiting = Buffer.concat([waiting, chunk])
    let at = 0
    if (salt === undefined) {
      if (waiting.length < head) continue
      if (!waiting.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('its format is unknown')
      salt = Buffer.from(waiting.subarray(MAGIC.length, head))
      at = head
    }
    while (waiting.length - at > FRAME + TAG) {
      yield unseal(waiting.subarray(at, at + FRAME + TAG), false)
      at += FRAME + TAG
    }
    waiting = waiting.subarray(at)
  }
  if (salt === undefined || waiting.length < TAG) throw new Error('it is cut off')
  yield unseal(waiting, true)
}

function nonce(salt: Buffer, number: number, isLast: boolean): Buffer {
  const bytes = Buffer.alloc(12)
  salt.copy(bytes)
  bytes.writeUInt32BE(number, 7)
  bytes[11] = isLast ? 1 : 0
  return bytes
}

/**
 * Encrypted files of organizations. Each organization has a random key, which is stored next to its
 * files, encrypted with the server's key. Removing the key makes the files unreadable.
 */
export class BlobStore {
  readonly #store: ObjectStore
  readonly #orgKeys = new Map<string, Promise<Buffer>>()

  constructor(
    settings: Settings,
    private readonly keys: ServerKeys,
    options: { readonly answerMs?: number } = {},
  ) {
    this.#store = storeOf(settings, options.answerMs)
  }

  /** Stores a file under the SHA-256 of its content. Idempotent. */
  async putFile(org: string, digest: string, file: string): Promise<void> {
    const key = fileKey(org, digest)
    const content = createReadStream(file)
    try {
      await this.#explained(async () =>
        this.#store.putNew(key, encrypt(await this.#keyOf(org), key, content)),
      )
    } finally {
      // If nothing was read, it would stay open, and the space of a removed file in use.
      content.destroy()
    }
  }

  async hasFile(org: string, digest: string): Promise<boolean> {
    return this.#explained(() => this.#store.has(fileKey(org, digest)))
  }

  /** The content; undefined if the file does not exist. Throws while reading if it is damaged. */
  async readFile(org: string, digest: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    const key = fileKey(org, digest)
    const bytes = await this.#explained(() => this.#store.get(key))
    if (bytes === undefined) return undefined
    return damaged(digest, decrypt(await this.#keyOf(org), key, bytes))
  }

  async removeFile(org: string, digest: string): Promise<void> {
    await this.#explained(() => this.#store.remove(fileKey(org, digest)))
  }

  async files(org: string): Promise<string[]> {
    const keys = await this.#explained(() => this.#store.list(`${org}/files`))
    return keys.map((key) => path.posix.basename(key))
  }

  /** Writes a small document, such as the record of a run. */
  async putRecord(org: string, name: string, value: unknown): Promise<void> {
    const key = recordKey(org, name)
    const plain = one(Buffer.from(JSON.stringify(value)))
    const sealed = await buffer(encrypt(await this.#keyOf(org), key, plain))
    await this.#explained(() => this.#store.put(key, sealed))
  }

  async readRecord(org: string, name: string): Promise<unknown> {
    const key = recordKey(org, name)
    const bytes = await this.#explained(() => this.#store.get(key))
    if (bytes === undefined) return undefined
    return json(damaged(name, decrypt(await this.#keyOf(org), key, bytes)))
  }

  async removeRecord(org: string, name: string): Promise<void> {
    await this.#explained(() => this.#store.remove(recordKey(org, name)))
  }

  /** Names of the records in a folder. */
  async records(org: string, folder: string): Promise<string[]> {
    const keys = await this.#explained(() => this.#store.list(recordKey(org, folder)))
    return keys.map((key) => key.slice(`${org}/records/`.length))
  }

  #keyOf(org: string): Promise<Buffer> {
    const known = this.#orgKeys.get(org) ?? this.#openKey(org)
    this.#orgKeys.set(org, known)
    known.catch(() => this.#orgKeys.delete(org))
    return known
  }

  async #openKey(org: string): Promise<Buffer> {
    const name = `${org}/key`
    const wrapping = this.keys.key('blobs', org)
    await this.#explained(async () => {
      if (!(await this.#store.has(name)))
        await this.#store.putNew(name, encrypt(wrapping, name, one(randomBytes(32))))
    })
    const stored = await this.#explained(() => this.#store.get(name))
    return buffer(damaged('key', decrypt(wrapping, name, stored ?? one(Buffer.alloc(0)))))
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const explained = explainFailure(error)
      throw explained instanceof RetakeError && explained.code === 'DISK_FULL'
        ? explained
        : serverErrors.STORAGE_FAILED(error)
    }
  }
}

/** Tests writing, reading, listing and removing an object. Returns the problem, if any. */
export async function probeStorage(settings: Settings, key: string): Promise<string | undefined> {
  const store = storeOf(settings)
  const content = randomBytes(1000)
  try {
    await store.put(key, content)
    const found = await store.get(key)
    if (found === undefined) return 'lost an object after confirming the write'
    if (!content.equals(await buffer(found))) return 'returned different content than was written'
    if (!(await store.list(path.posix.dirname(key))).includes(key))
      return 'does not list an object that exists'
    await store.remove(key)
    return (await store.has(key)) ? 'still has an object after removing it' : undefined
  } catch (error) {
    return `does not work: ${reason(error)}`
  }
}

const storeOf = (settings: Settings, answerMs?: number): ObjectStore =>
  settings.s3Url === undefined
    ? new FolderStore(path.join(settings.data, 'blobs'))
    : new BucketStore(settings, settings.s3Url, answerMs)

const fileKey = (org: string, digest: string): string =>
  `${org}/files/${digest.slice(0, 2)}/${digest}`
const recordKey = (org: string, name: string): string => `${org}/records/${name}`

async function* damaged(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw serverErrors.BLOB_DAMAGED(name, error)
  }
}

export const isDigest = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)
