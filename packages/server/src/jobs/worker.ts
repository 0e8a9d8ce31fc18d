import { attempt, Deadline, parseJson } from '@retake/tape/format'
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
} from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { reason, RetakeError } from '@retake/engine/errors'
import { openOwnTape } from '@retake/tape/node'
import { serverErrors } from '../edge/errors.js'
import type { Log } from '../edge/log.js'
import type { ProgramNeeds, RetakeParts } from '../edge/parts.js'
import { isCodeArchive, isFileName } from '../runs/run-cache.js'
import { archiveCommit } from './git-source.js'
import { jobCommand, kindOfJob } from './job-kinds.js'
import {
  type CommandEnd,
  codeFolders,
  JOB_FOLDERS,
  type JobFolders,
  type JobRunner,
  JobSandbox,
  type JobCommand,
  withoutSandbox,
} from './job-process.js'
import type { ClaimedJob } from './jobs.js'
import { MODEL_HEADERS } from './model-endpoint.js'
import { ModelGate } from './model-gate.js'
import { WorkerFolder } from './worker-folder.js'
import type { StoredFile, JobResult } from '../database/tables.js'

export interface WorkerOptions {
  /** Address of the server without a trailing slash. */
  readonly server: string
  readonly token: string
  readonly slots: number
  /** In which the worker creates a folder of its own; several workers can share it. */
  readonly folder: string
  readonly name?: string
  readonly parts: RetakeParts
  readonly log: Log
}

const HEARTBEAT_MS = 3000
const RETRY_MS = 1000
const RETRY_MAX_MS = 15_000
/** How long to retry while the server is unreachable. Then another worker gets the job. */
const RETRY_LIMIT_MS = 10 * 60_000
const JSON_TYPE = { 'content-type': 'application/json' }
const MEMORY_BYTES = 4 * 2 ** 30
const PROCESSES = 512
const FREE_BYTES = 2 ** 29
const PART_BYTES = 8 << 20
const RELEASE_MS = 3000
/** File in which a command reports its progress. */
const PROGRESS = '.progress'
const PROGRESS_MAX = 200

/**
 * Requests jobs from a server, runs them in a sandbox and reports the results. Needs only HTTP, and
 * tolerates a server that is unreachable for a while.
 */
export class Worker {
  readonly name: string
  readonly #options: WorkerOptions
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #runner: JobRunner = withoutSandbox('it has not started')
  #loop: Promise<void> = Promise.resolve()

  private constructor(
    options: WorkerOptions,
    private readonly folder: WorkerFolder,
  ) {
    this.#options = options
    // Two workers on one machine must not share a name.
    this.name = options.name ?? `${hostname()}-${randomBytes(3).toString('hex')}`
  }

  static async start(options: WorkerOptions): Promise<Worker> {
    const worker = new Worker(options, WorkerFolder.create(options.folder))
    worker.#runner = await JobSandbox.find(options.parts)
    worker.#loop = worker.#claimJobs()
    return worker
  }

  /** Why it refuses jobs that start a program; undefined if it does not. */
  get refusesCode(): string | undefined {
    return this.#runner.refusesCode
  }

  /** Stops jobs in progress and returns them to the server, for another worker. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    await Promise.all(this.#running)
    this.folder.remove()
  }

  async #claimJobs(): Promise<void> {
    const { slots, parts, log } = this.#options
    const { signal } = this.#stopping
    let wait = RETRY_MS
    while (!signal.aborted)
      try {
        const card = {
          name: this.name,
          version: parts.version,
          slots,
          hasSandbox: this.#runner.refusesCode === undefined,
        }
        const { job } = await this.#json<{ job: ClaimedJob | null }>('claim', card, signal)
        wait = RETRY_MS
        if (job === null) continue
        const done: Promise<void> = this.#work(job).finally(() => this.#running.delete(done))
        this.#running.add(done)
        while (this.#running.size >= slots) await Promise.race(this.#running)
      } catch (error) {
        if (signal.aborted) return
        if (wait > 2 * RETRY_MS) log.warn('server is not responding', { why: reason(error) })
        await pause(wait, undefined, { signal }).catch(() => {})
        wait = Math.min(2 * wait, RETRY_MAX_MS)
      }
  }

  async #work(job: ClaimedJob): Promise<void> {
    const { log } = this.#options
    const folder = path.join(this.folder.path, randomBytes(8).toString('hex'))
    const stop = new AbortController()
    using ended = new Deadline({ signals: [stop.signal, this.#stopping.signal] })
    const { signal } = ended
    const beating = this.#heartbeat(job, folder, stop)
    try {
      const result = await this.#run(job, folder, signal).catch(failureOf)
      if (signal.aborted) return
      await this.#sendUntilAnswered('POST', `jobs/${job.ticket}/result`, {
        body: JSON.stringify(result),
        headers: JSON_TYPE,
        signal,
      })
    } catch (error) {
      if (!signal.aborted) log.error('could not finish a job', error, { kind: job.kind })
    } finally {
      const isStopping = this.#stopping.signal.aborted && !stop.signal.aborted
      stop.abort()
      await beating
      // Without this, the server would notice only after a timeout.
      using deadline = new Deadline({ ms: RELEASE_MS })
      if (isStopping)
        await this.#json(`jobs/${job.ticket}/release`, {}, deadline.signal).catch(() => {})
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  }

  /** Reports progress. Stops the job if the server says so. */
  async #heartbeat({ ticket }: ClaimedJob, folder: string, stop: AbortController): Promise<void> {
    using ended = new Deadline({ signals: [stop.signal, this.#stopping.signal] })
    const { signal } = ended
    while (!signal.aborted) {
      await pause(HEARTBEAT_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const progress = readStart(path.join(folder, 'out', PROGRESS), PROGRESS_MAX)
      // The job continues while the server is unreachable.
      const answer = await this.#json<{ continue: boolean }>(
        `jobs/${ticket}/heartbeat`,
        { progress },
        signal,
      ).catch((error: unknown) => ({ continue: !isRefusal(error) }))
      if (!answer.continue) stop.abort()
    }
  }

  async #run(job: ClaimedJob, folder: string, signal: AbortSignal): Promise<JobResult> {
    const { run, kind, options } = job
    const { runsCode, writes } = kindOfJob(kind)
    const startsProgram = runsCode(options)
    const { refusesCode } = this.#runner
    if (refusesCode !== undefined && startsProgram) throw serverErrors.NO_SANDBOX(refusesCode)
    const folders = this.#makeFolders(folder)
    await this.#fetchFiles(job, folders, signal)
    const before = new Set(readdirSync(folders.runs))
    const limits = {
      timeMs: job.timeLimitMs,
      memoryBytes: MEMORY_BYTES,
      processes: PROCESSES,
      freeBytes: FREE_BYTES,
    }
    const code = await this.#unpack(job, folders, { limits, signal })
    const needs = startsProgram
      ? this.#options.parts.needsOf(path.join(folders.runs, `${run}.tape`))
      : NO_NEEDS
    const refused = new AbortController()
    using ended = new Deadline({ signals: [signal, refused.signal] })
    const gate = job.hasModel ? await this.#openGate(job, needs, { refused, signal }) : undefined
    try {
      const inside = this.#runner.paths(folders)
      const outputs = Object.entries(writes?.(run, options) ?? {})
      const args = [
        ...jobCommand(job, {
          sendsRequests: needs.sendsRequests,
          variables: gate === undefined ? [] : ModelGate.variables,
          ...(gate !== undefined && { modelUrl: ModelGate.url }),
        }),
        `--dir=${inside.runs}`,
        ...outputs.map(([option, name]) => `--${option}=${path.join(inside.out, name)}`),
      ]
      const end = await this.#execute(args, {
        folders,
        code,
        run,
        limits,
        gate,
        env: gate === undefined ? {} : needs.placeholders,
        signal: ended.signal,
      })
      if (signal.aborted) throw new Error('stopped')
      if (refused.signal.aborted) throw refused.signal.reason
      if (end.stoppedBy !== undefined) throw new Stopped(end.stoppedBy, job)
      const written = outputs
        .map(([, name]) => name)
        .filter((name) => (lstatSync(path.join(folders.out, name), QUIET)?.size ?? 0) > 0)
      const added =
        kind === 'fork'
          ? readdirSync(folders.runs).filter((name) => name.endsWith('.tape') && !before.has(name))
          : []
      return {
        ...(end.exitCode !== null && { exitCode: end.exitCode }),
        output: end.stderr,
        ...answerOf(end, written.length > 0),
        ...missingModel(end, gate === undefined && needs.models.length > 0),
        runs: await mapInOrder(added, (tape) => this.#uploadRun(job, folders.runs, tape, signal)),
        files: await mapInOrder(written, (name) =>
          this.#upload(job, path.join(folders.out, name), name, signal),
        ),
      }
    } finally {
      gate?.close()
    }
  }

  /** Forwards requests to models through the server, which adds the key. A refusal ends the job. */
  #openGate(
    job: ClaimedJob,
    needs: ProgramNeeds,
    { refused, signal }: { readonly refused: AbortController; readonly signal: AbortSignal },
  ): Promise<ModelGate> {
    return ModelGate.open(
      needs.models,
      async ({ method, url, headers, body }) => {
        const passed = Object.entries(headers).flatMap(([name, value]) =>
          MODEL_HEADERS.includes(name) && typeof value === 'string' ? [[name, value] as const] : [],
        )
        try {
          return await this.#send('POST', `jobs/${job.ticket}/model`, {
            body: new Uint8Array(body),
            headers: { ...Object.fromEntries(passed), 'retake-method': method, 'retake-url': url },
            signal,
          })
        } catch (error) {
          if (error instanceof Refusal && FINAL_REFUSALS.has(error.code)) refused.abort(error)
          throw error
        }
      },
      (file) => this.#runner.give(file),
    )
  }

  #makeFolders(folder: string): JobFolders {
    mkdirSync(folder, { mode: 0o711 })
    const folders = JOB_FOLDERS.map((name) => {
      const each = path.join(folder, name)
      mkdirSync(each, { mode: 0o700 })
      this.#runner.give(each)
      return [name, each]
    })
    return Object.fromEntries(folders) as JobFolders
  }

  async #fetchFiles(job: ClaimedJob, folders: JobFolders, signal: AbortSignal): Promise<void> {
    const route = `jobs/${job.ticket}/files`
    const { files } = await this.#sendUntilAnswered(
      'GET',
      route,
      { signal },
      (response) => response.json() as Promise<{ files: StoredFile[] }>,
    )
    // A branch without code uses that of its parent, whose files come later.
    const code = files.find(isCodeArchive)
    for (const file of files) {
      const { name, digest } = file
      if (!isFileName(name)) throw new Error(`"${name}" is not a valid file name`)
      if (isCodeArchive(file) && file !== code) continue
      const target = path.join(file === code ? folders.bundle : folders.runs, name)
      const parent = path.dirname(target)
      mkdirSync(parent, { recursive: true, mode: 0o700 })
      const received = await this.#sendUntilAnswered(
        'GET',
        `${route}/${digest}`,
        { signal },
        async (response) => {
          const hash = createHash('sha256')
          const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
          body.on('data', (chunk: Buffer) => hash.update(chunk))
          await pipeline(body, createWriteStream(target, { mode: 0o600 }))
          return hash.digest('hex')
        },
      )
      if (received !== digest) throw new Error(`the file ${name} was damaged in transfer`)
      if (parent !== folders.runs && parent !== folders.bundle) this.#runner.give(parent)
      this.#runner.give(target)
    }
  }

  /** Unpacks the agent's code inside the sandbox, because the archive is untrusted. */
  async #unpack(
    job: ClaimedJob,
    { code, bundle, runs }: JobFolders,
    { limits, signal }: Pick<JobCommand, 'limits' | 'signal'>,
  ): Promise<Record<string, string>> {
    if (this.#runner.refusesCode !== undefined) return {}
    const { run, options } = job
    const { git, commit, root = openOwnTape(path.join(runs, `${run}.tape`)).details.cwd } = options
    const archives = readdirSync(bundle)
    if (typeof git === 'string' && typeof commit === 'string') {
      const archive = path.join(bundle, GIT_ARCHIVE)
      await archiveCommit({ url: git, commit, root: String(root ?? '/'), archive, signal })
      this.#runner.give(archive)
      // The files of the commit replace those of the bundle, which contains the installed packages.
      archives.push(GIT_ARCHIVE)
    }
    for (const archive of archives) {
      const { exitCode, stderr, stoppedBy } = await this.#runner.run({
        command: ['tar', '-xzf', `/retake/bundle/${archive}`, '-C', '/retake/code'],
        cwd: '/',
        folders: { '/retake/code': code, '/retake/bundle': bundle },
        env: {},
        limits,
        signal,
      })
      if (stoppedBy !== undefined) throw new Stopped(stoppedBy, job)
      if (exitCode !== 0) throw new Error(`cannot unpack the code of run ${run}: ${stderr}`)
    }
    return archives.length === 0 ? {} : codeFolders(code)
  }

  #execute(
    args: readonly string[],
    given: {
      readonly folders: JobFolders
      readonly code: Readonly<Record<string, string>>
      readonly run: string
      readonly gate: ModelGate | undefined
    } & Pick<JobCommand, 'env' | 'limits' | 'signal'>,
  ): Promise<CommandEnd> {
    const { folders, code, gate, limits, signal } = given
    const { command, forwarder } = this.#options.parts
    const [node = '', ...entry] = command
    // The folder where the run was recorded, if the bundle contains it.
    const { cwd } = openOwnTape(path.join(folders.runs, `${given.run}.tape`)).details
    const isThere = Object.keys(code).some(
      (folder) => cwd === folder || cwd?.startsWith(`${folder}/`) === true,
    )
    return this.#runner.run({
      command: [node, ...(gate === undefined ? [] : [`--import=${forwarder}`]), ...entry, ...args],
      cwd: (isThere ? cwd : undefined) ?? '/retake/out',
      folders: {
        '/tmp': folders.tmp,
        '/retake': folders.state,
        '/retake/runs': folders.runs,
        '/retake/out': folders.out,
        ...(gate !== undefined && { [ModelGate.inside]: gate.folder }),
        ...code,
      },
      env: {
        ...given.env,
        ...(gate !== undefined && { RETAKE_FORWARDING: JSON.stringify(gate.forwarding) }),
        RETAKE_PROGRESS_FILE: `/retake/out/${PROGRESS}`,
        RETAKE_SANDBOX: 'around',
      },
      ...(gate !== undefined && { hosts: path.join(gate.folder, 'hosts') }),
      limits,
      signal,
    })
  }

  // Results

  async #uploadRun(job: ClaimedJob, folder: string, tape: string, signal: AbortSignal) {
    const run = tape.slice(0, -'.tape'.length)
    const children = path.join(folder, `${run}.children`)
    const names = lstatSync(children, { throwIfNoEntry: false })?.isDirectory()
      ? readdirSync(children).filter((name) => name.endsWith('.tape'))
      : []
    const files = await mapInOrder(
      [tape, ...names.map((name) => `${run}.children/${name}`)],
      (name) => this.#upload(job, path.join(folder, name), name, signal),
    )
    return { run, files }
  }

  async #upload(
    job: ClaimedJob,
    file: string,
    name: string,
    signal: AbortSignal,
  ): Promise<StoredFile> {
    // Untrusted code wrote it, so it may be a link to a file that the code could not read.
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(fd)
      if (!stats.isFile()) throw new Error(`${name} is not a file`)
      const read = (start: number, end: number) =>
        createReadStream('', { fd, autoClose: false, start, end: Math.max(start, end) })
      const hash = createHash('sha256')
      if (stats.size > 0) await pipeline(read(0, stats.size - 1), hash)
      const digest = hash.digest('hex')
      const route = `jobs/${job.ticket}/files/${digest}`
      for (let offset = 0; ;) {
        const end = Math.min(stats.size, offset + PART_BYTES)
        const part = end > offset ? await buffer(read(offset, end - 1)) : Buffer.alloc(0)
        const query = `?offset=${offset}&size=${stats.size}`
        const sent = await this.#sendUntilAnswered('PATCH', `${route}${query}`, {
          body: part,
          signal,
        }).catch((error: unknown) => {
          const expected = error instanceof Refusal ? error.expectedOffset : undefined
          if (expected === undefined || expected === offset) throw error
          return expected
        })
        offset =
          typeof sent === 'number' ? sent : ((await sent.json()) as { received: number }).received
        if (offset >= stats.size) return { name, digest, bytes: stats.size }
      }
    } finally {
      closeSync(fd)
    }
  }

  // Requests

  async #json<T>(route: string, body: unknown, signal: AbortSignal): Promise<T> {
    const init = { body: JSON.stringify(body), headers: JSON_TYPE, signal }
    return (await (await this.#send('POST', route, init)).json()) as T
  }

  /** Retries until the response was read, because the server may be restarting. */
  async #sendUntilAnswered<T = Response>(
    method: string,
    route: string,
    init: RequestInit & { readonly signal: AbortSignal },
    read: (response: Response) => T | Promise<T> = (response) => response as T,
  ): Promise<T> {
    const until = Date.now() + RETRY_LIMIT_MS
    for (let wait = RETRY_MS; ; wait = Math.min(2 * wait, RETRY_MAX_MS))
      try {
        return await read(await this.#send(method, route, init))
      } catch (error) {
        if (isRefusal(error) || init.signal.aborted || Date.now() > until) throw error
        await pause(wait, undefined, { signal: init.signal })
      }
  }

  async #send(method: string, route: string, init: RequestInit): Promise<Response> {
    const { server, token } = this.#options
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${token}`)
    const url = `${server}/api/v1/worker/${route}`
    // A redirect could send the token to another host.
    const response = await fetch(url, { ...init, method, headers, redirect: 'error' })
    if (response.ok) return response
    const body = (await response.json().catch(() => undefined)) as
      | { error?: JobResult['error'] & { readonly figures?: { readonly expected?: number } } }
      | undefined
    const {
      code = '',
      what = 'The server refused the request.',
      why = '',
      fix = '',
      figures,
    } = body?.error ?? {}
    throw new Refusal(response.status, code, what, why, fix, figures?.expected)
  }
}

/** Refusals that a retry would not change. */
const FINAL_REFUSALS = new Set(['MODEL_BUDGET_REACHED', 'MODEL_NOT_ALLOWED', 'MODEL_MISSING'])
const NO_NEEDS: ProgramNeeds = { models: [], sendsRequests: false, placeholders: {} }
const QUIET = { throwIfNoEntry: false } as const
const GIT_ARCHIVE = 'git.tar.gz'

/** The first bytes of a file that untrusted code may have written; empty if it is missing. */
const readStart = (file: string, max: number): string =>
  attempt(() => {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const buffer = Buffer.alloc(max)
      return buffer.toString('utf8', 0, readSync(fd, buffer, 0, max, 0))
    } finally {
      closeSync(fd)
    }
  }, '')

/** The error or hint for a job that lacked a model. */
function missingModel(end: CommandEnd, isMissing: boolean): Pick<JobResult, 'error' | 'hint'> {
  if (!isMissing) return {}
  const reported = (printedJson(end) as { error?: { code?: string } } | undefined)?.error?.code
  const { code, what, why, fix } = serverErrors.JOB_NEEDS_MODEL()
  if (reported === 'BLAME_OFFLINE') return { error: { code, what, why, fix } }
  return end.exitCode === 1 && reported === undefined
    ? { hint: `Nothing was sent to a model. ${fix}` }
    : {}
}

/** A response that a retry would not change. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly what: string,
    readonly why: string,
    readonly fix: string,
    /** Where an upload continues. */
    readonly expectedOffset?: number,
  ) {
    super(`${what} ${why}`.trim())
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Refusal && error.status < 500 && error.status !== 429

class Stopped extends Error {
  constructor(limit: NonNullable<CommandEnd['stoppedBy']>, { timeLimitMs }: ClaimedJob) {
    super(
      {
        time: `It took longer than ${timeLimitMs / 60_000} minutes.`,
        memory: `It used more than ${MEMORY_BYTES / 2 ** 30} GB of memory.`,
        processes: `It started more than ${PROCESSES} processes.`,
        disk: `Less than ${FREE_BYTES / 2 ** 20} MB of disk space was left on the worker machine.`,
      }[limit],
    )
  }
}

function failureOf(error: unknown): JobResult {
  if (error instanceof RetakeError || error instanceof Refusal) {
    const { code, what, why, fix } = error
    return { error: { code, what, why, fix } }
  }
  if (error instanceof Stopped)
    return { error: { code: 'JOB_LIMIT', what: 'The job was stopped.', why: error.message } }
  return noResult(reason(error))
}

/**
 * The answer of a command, or the error that it reports. It is JSON on stdout, whole or in lines, or
 * on stderr if stdout belongs to the agent. A command that writes a file has no other answer.
 */
function answerOf(end: CommandEnd, writesFile: boolean): Pick<JobResult, 'summary' | 'error'> {
  const summary = printedJson(end)
  const reported = (summary as { error?: JobResult['error'] } | undefined)?.error
  if (reported?.code !== undefined) return { error: reported }
  if (summary !== undefined) return { summary }
  if (writesFile && end.exitCode === 0) return {}
  const why = end.stderr.trim().split('\n').at(-1) || `It exited with code ${end.exitCode}.`
  return noResult(why)
}

const noResult = (why: string): Pick<JobResult, 'error'> => ({
  error: { code: 'JOB_NO_RESULT', what: 'The job produced no result.', why },
})

function printedJson({ stdout, stderr }: CommandEnd): unknown {
  const whole = parseJson(stdout)
  if (whole !== undefined) return whole
  const lines = stdout.split('\n').flatMap((line) => parseJson(line) ?? [])
  if (lines.length > 0) return lines
  return parseJson(stderr.split('\n').findLast((line) => line.startsWith('{')) ?? '')
}

async function mapInOrder<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await map(item))
  return results
}
