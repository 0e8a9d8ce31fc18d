import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import {
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  utimes,
} from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RetakeError } from '@retake/engine/errors'
import { isDiskFull, serverErrors } from '../edge/errors.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { StoredFile } from '../database/tables.js'

/** A relative path without `..`, hidden files or empty parts. */
export const isFileName = (name: string): boolean => /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/.test(name)

/** True for an archive with the code of an agent. */
export const isCodeArchive = ({ name }: StoredFile): boolean => name.endsWith('.code.tar.gz')

const UNUSED_MS = 7 * 24 * 3600_000
/** On a full disk, only files in use are kept: somebody may be about to open what was just fetched. */
const IN_USE_MS = 5000

/**
 * Decrypted copies of runs, as folders of tapes, and uploads in progress. Everything can be removed
 * at any time and is fetched again from the stored files.
 */
export class RunCache {
  readonly #folder: string
  readonly #fetching = new Map<string, Promise<void>>()
  /** Tapes of recordings in progress, with the time when the last part arrived. */
  readonly #live = new Map<string, number>()
  readonly #receiving = new Map<string, Promise<unknown>>()

  constructor(
    data: string,
    private readonly blobs: BlobStore,
  ) {
    this.#folder = path.join(data, 'cache')
  }

  folderOf(org: string, project: string): string {
    return path.join(this.#folder, 'projects', org, project, 'runs')
  }

  /** Copies the files of a run to the folder of its project, unless they are there. */
  async fetch(org: string, project: string, files: readonly StoredFile[]): Promise<void> {
    await Promise.all(
      files.map(async ({ name, digest, bytes }) => {
        const target = path.join(this.folderOf(org, project), name)
        const found = await stat(target).catch(() => undefined)
        if (found?.size === bytes) return utimes(target, new Date(), found.mtime)
        const known =
          this.#fetching.get(target) ?? this.#withRoom(() => this.#fetchFile(org, digest, target))
        this.#fetching.set(target, known)
        return known.finally(() => this.#fetching.delete(target))
      }),
    )
  }

  async #fetchFile(org: string, digest: string, target: string): Promise<void> {
    const content = await this.blobs.readFile(org, digest)
    if (content === undefined) throw serverErrors.BLOB_DAMAGED(digest, 'it is missing')
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
    const draft = `${target}.${process.pid}.part`
    const hash = createHash('sha256')
    try {
      await pipeline(content, hashed(hash), createWriteStream(draft, { mode: 0o600 }))
      if (hash.digest('hex') !== digest)
        throw serverErrors.BLOB_DAMAGED(digest, 'its content does not match the digest')
      await rename(draft, target)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  async remove(org: string, project: string, files: readonly StoredFile[]): Promise<void> {
    for (const { name } of files)
      await rm(path.join(this.folderOf(org, project), name), { force: true })
  }

  /** Bytes of an upload that have arrived. */
  async received(org: string, digest: string): Promise<number> {
    return (await stat(this.#uploadPath(org, digest)).catch(() => undefined))?.size ?? 0
  }

  /** Stores an upload that was complete when the server was killed. */
  async resume(org: string, digest: string, size: number): Promise<void> {
    if (size === 0 || (await this.received(org, digest)) !== size) return
    try {
      await this.receive({ org, digest, offset: size, size }, Readable.from([]))
    } catch (error) {
      // A damaged upload was removed and starts again.
      if (!(error instanceof RetakeError && error.code === 'UPLOAD_DAMAGED')) throw error
    }
  }

  /**
   * Appends to an upload. Returns the number of bytes that have arrived. Bytes that arrived before a
   * connection broke are retained, and may be sent again.
   */
  async receive(part: UploadPart, body: AsyncIterable<Uint8Array>): Promise<number> {
    const file = this.#uploadPath(part.org, part.digest)
    // Requests for the same file run one after another.
    const before = this.#receiving.get(file) ?? Promise.resolve()
    const own = before.then(() => this.#append(part, file, body))
    const settled = own.catch(() => {})
    this.#receiving.set(file, settled)
    try {
      return await own
    } finally {
      if (this.#receiving.get(file) === settled) this.#receiving.delete(file)
    }
  }

  async #append(
    { org, digest, offset, size }: UploadPart,
    file: string,
    body: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(file, 'a', 0o600)
    try {
      let length = (await handle.stat()).size
      if (offset > length) throw serverErrors.UPLOAD_OFFSET(length)
      let at = offset
      for await (const chunk of body) {
        const rest = chunk.subarray(Math.max(0, length - at))
        at += chunk.length
        if (at > size) throw serverErrors.TOO_LARGE('The upload', at, size)
        await this.#write(handle, length, rest)
        length += rest.length
      }
      await handle.sync()
      if (length === size) {
        if ((await fileDigest(file)) !== digest) {
          await rm(file, { force: true })
          throw serverErrors.UPLOAD_DAMAGED(digest)
        }
        await this.#withRoom(() => this.blobs.putFile(org, digest, file))
      }
      return length
    } catch (error) {
      // A partial upload must not take the space that a later attempt needs.
      if (isDiskFull(error)) await rm(file, { force: true })
      throw error
    } finally {
      await handle.close()
    }
  }

  #write(handle: FileHandle, length: number, chunk: Uint8Array): Promise<void> {
    return this.#withRoom(
      () => handle.appendFile(chunk),
      // A part of the chunk may have been written.
      () => handle.truncate(length),
    )
  }

  /** On a full disk, makes room and tries once more. */
  async #withRoom<T>(work: () => Promise<T>, undo?: () => Promise<void>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isDiskFull(error) || !(await this.makeRoom())) throw error
      await undo?.()
      return work()
    }
  }

  /**
   * Appends to the tape of a recording in progress. Returns its length. This is only a copy for the
   * viewer; the run exists once it is pushed.
   */
  async appendLive(
    { org, project, run, offset, max }: LivePart,
    body: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    const file = path.join(this.folderOf(org, project), `${run}.tape`)
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    // A client that starts again replaces the copy.
    const handle = await open(file, offset === 0 ? 'w' : 'a', 0o600)
    try {
      let length = (await handle.stat()).size
      if (length !== offset) return length
      this.#live.set(file, Date.now())
      for await (const chunk of body) {
        length += chunk.length
        if (length > max) throw serverErrors.TOO_LARGE('The run', length, max)
        await this.#write(handle, length - chunk.length, chunk)
      }
      return length
    } finally {
      await handle.close()
    }
  }

  /** True if parts of the recording have arrived and the run was not pushed. */
  isLive(org: string, project: string, run: string): boolean {
    const at = this.#live.get(path.join(this.folderOf(org, project), `${run}.tape`))
    return at !== undefined && Date.now() - at < UNUSED_MS
  }

  /** Runs of a project whose recording is in progress and has sent something recently. */
  liveRuns(org: string, project: string): string[] {
    const folder = this.folderOf(org, project)
    return [...this.#live]
      .filter(([file, at]) => path.dirname(file) === folder && Date.now() - at < SILENT_MS)
      .map(([file]) => path.basename(file, '.tape'))
  }

  /** Links a finished upload into the folder of its project, to avoid decrypting it. */
  async adopt(org: string, project: string, { name, digest }: StoredFile): Promise<void> {
    const upload = this.#uploadPath(org, digest)
    const target = path.join(this.folderOf(org, project), name)
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
    // The copy of the recording in progress was never checked.
    this.#live.delete(target)
    await rm(target, { force: true })
    await link(upload, target).catch(() => {})
  }

  async forgetUploads(org: string, files: readonly StoredFile[]): Promise<void> {
    for (const { digest } of files) await rm(this.#uploadPath(org, digest), { force: true })
  }

  /** Removes files that were not used for a week. */
  async clean(now = Date.now()): Promise<void> {
    for (const [file, at] of this.#live) if (now - at >= UNUSED_MS) this.#live.delete(file)
    await this.#evict(now - UNUSED_MS)
  }

  /**
   * Removes everything that is not in use, also uploads that nobody continues. They start again.
   * Returns true if something was removed.
   */
  makeRoom(now = Date.now()): Promise<boolean> {
    return this.#evict(now - IN_USE_MS)
  }

  async #evict(usedBefore: number): Promise<boolean> {
    let isRoomier = false
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(
      () => [],
    )
    for (const entry of entries.filter((each) => each.isFile())) {
      const file = path.join(entry.parentPath, entry.name)
      const target = file.replace(/\.\d+\.part$/, '')
      if (this.#receiving.has(file) || this.#fetching.has(target)) continue
      const found = await stat(file).catch(() => undefined)
      const usedAt = Math.max(found?.atimeMs ?? Infinity, found?.ctimeMs ?? 0)
      if (usedAt >= usedBefore || (this.#live.get(file) ?? 0) >= usedBefore) continue
      await rm(file, { force: true })
      isRoomier = true
    }
    return isRoomier
  }

  readonly #uploadPath = (org: string, digest: string): string =>
    path.join(this.#folder, 'uploads', org, digest)
}

export interface UploadPart {
  readonly org: string
  readonly digest: string
  readonly offset: number
  /** Size of the whole file. */
  readonly size: number
}

export interface LivePart {
  readonly org: string
  readonly project: string
  readonly run: string
  readonly offset: number
  readonly max: number
}

/** A client sends something at least every ten seconds. */
const SILENT_MS = 30_000

export async function fileDigest(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Passes a stream through and adds it to a hash. */
export const hashed = (hash: ReturnType<typeof createHash>) =>
  async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
