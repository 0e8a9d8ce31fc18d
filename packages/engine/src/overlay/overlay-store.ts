import { attempt } from '@retake/tape/format'
import path from 'node:path'
import type { MovedRoot } from '../player/moved-tape.js'
import { disk } from './disk.js'

/**
 * Why a branch does not see an entry on disk: the branch deleted it, or it was created after the
 * branch point.
 */
export type Hidden = 'deleted' | 'later'

interface JournalLine {
  readonly hide: string
  readonly why: Hidden
}

/**
 * Files of an overlay in its folder:
 * - `tree/` contains what the branch has written, under its path on disk
 * - `hidden.jsonl` lists what the branch does not see on disk; lines are only appended
 * - `overlay.json` marks the folder as an overlay, and names the folder in which it started
 * - `work/` contains copies until they are complete
 *
 * Each change is one append or one rename, so a killed branch leaves an intact overlay. Its files
 * name the recorded folder, even if the branch runs in a copy of it.
 */
export class OverlayStore {
  readonly folder: string
  readonly tree: string
  /** The working directory of the branch. */
  readonly base: string
  readonly hidden = new Map<string, Hidden>()
  readonly #work: string
  readonly #journal: string
  #copies = 0

  private constructor(
    folder: string,
    base: string,
    private readonly moved?: MovedRoot,
  ) {
    this.folder = disk.realpathSync(folder)
    this.base = base
    this.tree = path.join(this.folder, 'tree')
    this.#work = path.join(this.folder, 'work')
    this.#journal = path.join(this.folder, 'hidden.jsonl')
    for (const { hide, why } of readJournal(this.#journal))
      this.hidden.set(this.#toCurrent(hide), why)
  }

  /** Creates the folder, or continues with an existing one. `base` is a folder of today. */
  static make(folder: string, base: string, moved?: MovedRoot): OverlayStore {
    const known = OverlayStore.open(folder, moved)
    if (known !== undefined) return known
    disk.mkdirSync(folder, { recursive: true })
    const store = new OverlayStore(folder, withRoot(base, moved?.current, moved?.recorded), moved)
    for (const part of [store.tree, store.#work]) disk.mkdirSync(part, { recursive: true })
    disk.writeFileSync(headerOf(folder), `${JSON.stringify({ format: 1, base: store.base })}\n`)
    return store
  }

  /** Opens an existing overlay; undefined if the folder is not one. */
  static open(folder: string, moved?: MovedRoot): OverlayStore | undefined {
    return attempt(() => {
      const { base } = JSON.parse(disk.readFileSync(headerOf(folder), 'utf8')) as { base: string }
      return new OverlayStore(folder, base, moved)
    })
  }

  /** Where the overlay stores an absolute path. */
  overlayPath(filePath: string): string {
    const recorded = this.#toRecorded(filePath)
    const { root } = path.parse(recorded)
    return path.join(this.tree, root.replaceAll(/[:\\/]/g, ''), recorded.slice(root.length))
  }

  /** The folder of a path. That of a copied project is in the folder of the recorded one. */
  parentOf(filePath: string): string {
    return path.dirname(filePath === this.moved?.current ? this.moved.recorded : filePath)
  }

  /** The original of a path in the tree; other paths and texts are returned unchanged. */
  original(text: string): string {
    return this.#toCurrent(this.#original(text))
  }

  #original(text: string): string {
    if (process.platform !== 'win32') {
      // The tree itself represents the root.
      return text === this.tree ? '/' : text.replaceAll(this.tree + path.sep, '/')
    }
    const start = this.tree + path.sep
    const at = text.indexOf(start)
    if (at < 0) return text
    const [drive = '', ...rest] = text.slice(at + start.length).split(path.sep)
    return text.slice(0, at) + [`${drive}:`, ...rest].join(path.sep)
  }

  hide(filePath: string, why: Hidden): void {
    if (this.hidden.get(filePath) === why) return
    disk.appendFileSync(
      this.#journal,
      `${JSON.stringify({ hide: this.#toRecorded(filePath), why })}\n`,
    )
    this.hidden.set(filePath, why)
  }

  /** Puts an entry into the tree atomically: `make` first creates it elsewhere. */
  put(filePath: string, make: (at: string) => void): void {
    this.#copies += 1
    const whole = path.join(this.#work, `${PID}-${this.#copies}`)
    make(whole)
    disk.renameSync(whole, this.overlayPath(filePath))
  }

  remove(): void {
    disk.rmSync(this.folder, { recursive: true, force: true })
  }

  #toRecorded(file: string): string {
    return withRoot(file, this.moved?.current, this.moved?.recorded)
  }

  #toCurrent(file: string): string {
    return withRoot(file, this.moved?.recorded, this.moved?.current)
  }
}

function withRoot(file: string, from: string | undefined, to = ''): string {
  const isInside = from !== undefined && (file === from || file.startsWith(from + path.sep))
  return isInside ? to + file.slice(from.length) : file
}

/** Read before `process.pid` is patched. */
const PID = process.pid

const headerOf = (folder: string): string => path.join(folder, 'overlay.json')

/** A kill may have torn the last line, whose change then did not happen. */
function readJournal(file: string): JournalLine[] {
  if (!disk.existsSync(file)) return []
  return disk
    .readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => attempt(() => [JSON.parse(line) as JournalLine], []))
}
