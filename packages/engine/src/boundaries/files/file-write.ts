import type { FileBefore } from '@retake/tape/format'
import { contentProof } from '../../file-state.js'
import { disk } from '../../overlay/disk.js'
import { flagBits, opensEmpty, opensToAppend } from '../../overlay/open-flags.js'
import { absolute } from '../../overlay/overlay-call.js'
import type { Session } from '../../kernel/session.js'
import { encodeData, encodingOf } from './file-functions.js'

/** A file that a run has open. */
interface OpenFile {
  readonly path: string
  readonly isAppending: boolean
  /** Where the next read or write without a position begins; undefined if that is not known. */
  position: number | undefined
}

interface WrittenFiles {
  readonly open: Map<number, OpenFile>
  /** Number of asynchronous writes in progress, by path. */
  readonly writes: Map<string, number>
}

const all = new WeakMap<Session, WrittenFiles>()

function filesOf(session: Session): WrittenFiles {
  const owner = session.owner ?? session
  let files = all.get(owner)
  if (files === undefined) all.set(owner, (files = { open: new Map(), writes: new Map() }))
  return files
}

/** Follows the positions of open files after each call, in record and replay. */
export function trackPosition(
  session: Session,
  name: string,
  [file, ...rest]: readonly unknown[],
  value: unknown,
): void {
  const { open } = filesOf(session)
  if (name === 'open') {
    const isAppending = opensToAppend(flagBits(rest[0]))
    open.set(value as number, { path: absolute(file), isAppending, position: 0 })
  } else if (typeof file === 'number') {
    if (name === 'close') open.delete(file)
    else if (name === 'readFile') movePosition(session, file, undefined)
    else if (name === 'writeFile' || name === 'appendFile') {
      const [data, options] = rest
      movePosition(session, file, encodeData(data, encodingOf(options)).body?.length ?? 0)
    }
  }
}

/** `count`: bytes that were read or written; undefined if that is not known. */
export function movePosition(session: Session, fd: number, count: number | undefined): void {
  const file = filesOf(session).open.get(fd)
  if (file?.position === undefined) return
  file.position = count === undefined ? undefined : file.position + count
}

/** A call that writes to a file. */
export class FileWrite {
  /** Number of asynchronous writes to the same file, including this one, when it began. */
  #inProgress = 0

  private constructor(
    readonly session: Session,
    readonly path: string,
    readonly written: Pick<FileBefore, 'at' | 'length' | 'isCut'> | 'appended',
    readonly length: number,
  ) {}

  /** A call of a function in the table; undefined if it writes to no file that is known. */
  static of(session: Session, name: string, args: readonly unknown[]): FileWrite | undefined {
    const [file, second, options] = args
    if (name === 'truncate' || name === 'ftruncate') {
      const length = typeof second === 'number' ? second : 0
      const path = typeof file === 'number' ? filesOf(session).open.get(file)?.path : absolute(file)
      return path === undefined
        ? undefined
        : new FileWrite(session, path, { at: length, length: 0, isCut: true }, 0)
    }
    if (name !== 'appendFile' && name !== 'writeFile') return undefined
    const bytes = encodeData(second, encodingOf(options)).body
    if (bytes === undefined) return undefined
    if (typeof file === 'number') return FileWrite.at(session, file, bytes.length, null)
    const { flag = name === 'appendFile' ? 'a' : 'w' } = (
      typeof options === 'object' ? (options ?? {}) : {}
    ) as { flag?: unknown }
    const bits = flagBits(flag)
    const { length } = bytes
    return new FileWrite(
      session,
      absolute(file),
      opensToAppend(bits) ? 'appended' : opensEmpty(bits) ? { length } : { at: 0, length },
      length,
    )
  }

  /** A write to a descriptor. */
  static at(
    session: Session,
    fd: number,
    length: number,
    position: unknown,
  ): FileWrite | undefined {
    const file = filesOf(session).open.get(fd)
    if (file === undefined) return undefined
    const at = typeof position === 'number' && position >= 0 ? position : file.position
    // Linux appends even if there is a position.
    if (file.isAppending) return new FileWrite(session, file.path, 'appended', length)
    return at === undefined ? undefined : new FileWrite(session, file.path, { at, length }, length)
  }

  /** Called when an asynchronous write begins; returns what to call at its end. */
  begin(): () => void {
    const { writes } = filesOf(this.session)
    const { path } = this
    const others = writes.get(path) ?? 0
    this.#inProgress = others + 1
    writes.set(path, others + 1)
    return () => {
      const left = (writes.get(path) ?? 1) - 1
      if (left > 0) writes.set(path, left)
      else writes.delete(path)
    }
  }

  /** True if a write to the same file is in progress whose effect is not known yet. */
  get #isShared(): boolean {
    const inProgress = filesOf(this.session).writes.get(this.path) ?? 0
    return this.#inProgress > 1 || inProgress > this.#inProgress
  }

  /**
   * The file immediately before the write. Undefined if it is not a regular file, if its name contains
   * a secret, without a machine key, and in a branch, whose files are elsewhere.
   */
  before(): FileBefore | undefined {
    const { session, path, length } = this
    if (session.overlay !== undefined || session.secrets.text(path) !== path) return undefined
    if (this.#isShared) return { path, length, isShared: true }
    const written = this.written === 'appended' ? { at: 0, length } : this.written
    let fd: number | undefined
    try {
      fd = disk.openSync(path, disk.constants.O_RDONLY | (disk.constants.O_NONBLOCK ?? 0))
      const stats = disk.fstatSync(fd)
      if (!stats.isFile()) return undefined
      const { size } = stats
      const known = { ...written, ...(this.written === 'appended' && { at: size }), size }
      const content = contentProof(fd, known, true)
      return content === undefined ? undefined : { path, ...known, content }
    } catch (error) {
      const isNew = (error as NodeJS.ErrnoException).code === 'ENOENT'
      return isNew ? { path, ...written } : undefined
    } finally {
      if (fd !== undefined) disk.closeSync(fd)
    }
  }
}
