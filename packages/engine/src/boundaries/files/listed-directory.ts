import path from 'node:path'
import type { Dir, Dirent } from 'node:fs'
import type { Session } from '../../sessions/session.js'
import type { Answer } from '../captured-call.js'
import { pathText } from './file-arguments.js'
import { nativeFunction } from './file-natives.js'
import { callLive } from './live-call.js'

/**
 * An open folder whose entries were all read when it was opened. It stands in for
 * the real thing where there is none: in an overlay, and for a folder that the tape
 * had opened before the run went live.
 */
export class ListedDirectory {
  readonly path: string
  readonly #entries: Dirent[]

  /** `seen`: entries that were handed out already, by `nameOfEntry`. Throws what opening the folder throws. */
  constructor(session: Session, args: readonly unknown[], seen: ReadonlySet<string> = new Set()) {
    const [filePath, options] = args
    const given = typeof options === 'string' ? { encoding: options } : (options ?? {})
    this.path = pathText(filePath)
    // For its errors, which are those of another call.
    const folder = callLive(session, 'opendir', nativeFunction('opendirSync'), args) as Dir
    folder.closeSync()
    const list = callLive(session, 'readdir', nativeFunction('readdirSync'), [
      filePath,
      { ...given, withFileTypes: true },
    ])
    this.#entries = (list as Dirent[]).filter((entry) => !seen.has(nameOfEntry(entry)))
  }

  readSync(): Dirent | null {
    return this.#entries.shift() ?? null
  }

  read(done: Answer): void {
    done(null, this.readSync())
  }

  closeSync(): void {
    this.#entries.length = 0
  }

  close(done: Answer): void {
    done(null)
  }
}

/** Tells the entries of a folder and of those below it apart. */
export function nameOfEntry(entry: Dirent): string {
  const parent = (entry as { parentPath?: string }).parentPath ?? entry.path
  return path.join(parent, entry.name)
}
