import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { attempt } from '@retake/tape/format'
import { TapeLock } from '@retake/tape/node'
import { serverErrors } from '../edge/errors.js'

const NAME = /^worker-[0-9a-f]{12}$/
/** In every folder that a worker created. Contains the name of its machine. */
const MARKER = '.retake-worker'
const TOUCH_MS = 60_000
/** The locks of another machine say nothing here, but its workers touch their markers. */
const OTHER_GONE_MS = 3600_000

/**
 * The folder of one worker, for its jobs. Several workers can share a parent folder, even on several
 * machines. A new worker removes the folders of workers that were killed, and nothing else.
 */
export class WorkerFolder {
  private constructor(
    readonly path: string,
    private readonly lock: TapeLock,
    private readonly timer: NodeJS.Timeout,
  ) {}

  static create(parent: string): WorkerFolder {
    try {
      // Traversable for others, because commands run as another user if the worker runs as root.
      mkdirSync(parent, { recursive: true, mode: 0o711 })
      for (const name of readdirSync(parent))
        if (NAME.test(name)) removeAbandoned(path.join(parent, name))
      const folder = path.join(parent, `worker-${randomBytes(6).toString('hex')}`)
      const lock = TapeLock.take(folder)
      mkdirSync(folder, { mode: 0o711 })
      const marker = path.join(folder, MARKER)
      writeFileSync(marker, hostname())
      const touch = (): unknown => attempt(() => utimesSync(marker, new Date(), new Date()))
      return new WorkerFolder(folder, lock, setInterval(touch, TOUCH_MS).unref())
    } catch (error) {
      throw serverErrors.DATA_FOLDER_NOT_WRITABLE(parent, error)
    }
  }

  remove(): void {
    clearInterval(this.timer)
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 })
    this.lock.release()
  }
}

function removeAbandoned(folder: string): void {
  const marker = path.join(folder, MARKER)
  const found = attempt(() => ({
    host: readFileSync(marker, 'utf8'),
    touchedAt: statSync(marker).mtimeMs,
  }))
  if (found === undefined) return
  if (found.host !== hostname() && Date.now() - found.touchedAt < OTHER_GONE_MS) return
  // Undefined while its worker is running.
  const lock = attempt(() => TapeLock.take(folder))
  if (lock === undefined) return
  // It may contain files of another user.
  attempt(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  lock.release()
}
