import { Deadline } from '@retake/tape/format'
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { RetakeError } from '@retake/engine/errors'
import { type Selectable, sql, type UpdateObject } from 'kysely'
import { type Database, systemActor, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { Log } from '../edge/log.js'
import { isCodeArchive, isFileName, type UploadPart } from '../runs/run-cache.js'
import { type TeamRuns } from '../runs/team-runs.js'
import { type BlobStore, isDigest } from '../storage/blob-store.js'
import type { ServerKeys, SignedTokens } from '../storage/server-keys.js'
import { checkGitSource } from './git-source.js'
import { jobOptions, kindOfJob } from './job-kinds.js'
import type { JobQueue } from './job-queue.js'
import type { ModelAnswer, ModelEndpoints, SandboxRequest } from './model-endpoint.js'
import { audit } from '../database/audit.js'
import type {
  Actor,
  Tables,
  StoredFile,
  StoredProject,
  JobKind,
  JobOptions,
  TeamJob,
  JobResult,
} from '../database/tables.js'

export interface JobChange {
  readonly org: string
  readonly job: TeamJob
}

/** Description of a worker, sent when it requests a job. */
export interface WorkerCard {
  readonly name: string
  readonly version: string
  readonly slots: number
  /** False if it refuses jobs that start the program of a run. */
  readonly hasSandbox: boolean
}

export interface WorkerInfo extends WorkerCard {
  readonly running: number
  readonly seenAt: number
}

export interface ClaimedJob {
  /** Identifies the attempt in all further requests. Signed, and valid until the attempt ends. */
  readonly ticket: string
  readonly run: string
  readonly kind: JobKind
  readonly options: JobOptions
  readonly timeLimitMs: number
  /** True if the program may send requests to a model through the server. */
  readonly hasModel: boolean
}

interface Attempt {
  readonly org: string
  readonly id: string
  readonly number: number
}

const ATTEMPTS_MAX = 3
const POLL_MS = 1000
/** A worker that is silent for this long is considered gone. */
const WORKER_GONE_MS = 45_000
const LIST_MAX = 200
/** Limit for jobs of an organization that wait or run. */
const OPEN_MAX = 1000
const RETAINED_MS = 90 * 86_400_000
const OUTPUT_MAX = 64 << 10
const SUMMARY_MAX = 2 << 20
const FILES_MAX = 100
const PROGRESS_MAX = 200

/** Jobs on runs. The table stores their state; the queue only assigns them to workers. */
export class TeamJobs {
  readonly #tickets: SignedTokens
  readonly #listeners = new Set<(change: JobChange) => void>()
  readonly #workers = new Map<string, WorkerInfo>()
  /** Wakes up waiting workers. */
  readonly #news = new EventEmitter().setMaxListeners(0)
  #isClosed = false

  constructor(
    private readonly database: Database,
    private readonly runs: TeamRuns,
    private readonly blobs: BlobStore,
    private readonly queue: JobQueue,
    private readonly models: ModelEndpoints,
    keys: ServerKeys,
    /** Addresses from which workers may fetch code. */
    private readonly gitSources: readonly string[],
  ) {
    this.#tickets = keys.tokens('worker', 'ticket')
  }

  // For people and programs

  /** Newest first; from all projects if `project` is missing. */
  async list(
    actor: Actor,
    project?: StoredProject,
    filter: { readonly run?: string } = {},
  ): Promise<TeamJob[]> {
    const rows = await this.database.inOrg(actor, (each) => {
      const all = each.selectFrom('job').selectAll()
      const ofProject = project === undefined ? all : all.where('project', '=', project.id)
      const ofRun = filter.run === undefined ? ofProject : ofProject.where('run', '=', filter.run)
      return ofRun.orderBy('createdAt', 'desc').limit(LIST_MAX).execute()
    })
    return rows.map(jobOf)
  }

  async job(actor: Actor, project: StoredProject, id: string): Promise<TeamJob> {
    const row = await this.database.inOrg(actor, (rows) =>
      rows
        .selectFrom('job')
        .selectAll()
        .where('project', '=', project.id)
        .where('id', '=', id)
        .executeTakeFirst(),
    )
    if (row === undefined) throw serverErrors.NOT_FOUND('job')
    return jobOf(row)
  }

  async start(
    actor: Actor,
    project: StoredProject,
    request: {
      readonly run: string
      readonly kind: string
      readonly options?: Readonly<Record<string, unknown>>
    },
  ): Promise<TeamJob> {
    const { run } = request
    const kind = request.kind as JobKind
    const options = jobOptions(kind, request.options ?? {})
    checkGitSource(options, this.gitSources)
    if (typeof options['model'] === 'string') await this.models.check(actor, options['model'])
    const files = await this.#filesOf(actor, project, run)
    const hasCode = options['git'] !== undefined || files.some(isCodeArchive)
    if (kindOfJob(kind).runsCode(options) && !hasCode) throw serverErrors.JOB_NEEDS_CODE(run)
    const id = randomUUID()
    const row = await this.database.inOrg(actor, async (rows) => {
      const open = await rows
        .selectFrom('job')
        .select(sql<number>`count(*)::int`.as('count'))
        .where('state', 'in', ['waiting', 'running'])
        .executeTakeFirstOrThrow()
      if (open.count >= OPEN_MAX) throw serverErrors.JOBS_FULL(OPEN_MAX)
      const made = await rows
        .insertInto('job')
        .values({
          org: actor.org,
          id,
          project: project.id,
          run,
          kind,
          options,
          state: 'waiting',
          createdBy: actor.user,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      await audit(rows, actor, 'job.start', `${project.slug}/${run}`, { id, kind })
      return made
    })
    await this.queue.add(actor.org, id, kindOfJob(kind).runsCode(options))
    this.#notify(actor.org, row)
    this.#news.emit('job')
    return jobOf(row)
  }

  /** Stops a job that waits or runs. A later result is ignored. */
  async cancel(actor: Actor, project: StoredProject, id: string): Promise<TeamJob> {
    await this.job(actor, project, id)
    const row = await this.database.inOrg(actor, async (rows) => {
      const stopped = await rows
        .updateTable('job')
        .set({ state: 'stopped', endedAt: timeText() })
        .where('id', '=', id)
        .where('state', 'in', ['waiting', 'running'])
        // An accepted result is already being stored.
        .where('result', 'is', null)
        .returningAll()
        .executeTakeFirst()
      if (stopped !== undefined) await audit(rows, actor, 'job.stop', id)
      return stopped
    })
    if (row === undefined) return this.job(actor, project, id)
    this.#workerFreed(row.worker)
    await this.queue.remove(actor.org, id)
    this.#notify(actor.org, row)
    return jobOf(row)
  }

  /** Reports every change of a job until the returned function is called. */
  watch(listener: (change: JobChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Workers that were heard from recently. */
  workers(now = Date.now()): WorkerInfo[] {
    for (const [name, { seenAt }] of this.#workers)
      if (now - seenAt > WORKER_GONE_MS) this.#workers.delete(name)
    return [...this.#workers.values()].toSorted((a, b) => a.name.localeCompare(b.name))
  }

  async readFile(
    actor: Actor,
    project: StoredProject,
    id: string,
    name: string,
  ): Promise<{ readonly file: StoredFile; readonly content: AsyncIterable<Uint8Array> }> {
    const { result } = await this.job(actor, project, id)
    const file = result?.files?.find((each) => each.name === name)
    const content = file && (await this.blobs.readFile(actor.org, file.digest))
    if (file === undefined || content === undefined) throw serverErrors.NOT_FOUND('file')
    return { file, content }
  }

  /** Removes jobs that ended long ago, with the files that they made. */
  async clean(actor: Actor, now = Date.now()): Promise<number> {
    const removed = await this.database.inOrg(actor, (rows) =>
      rows
        .deleteFrom('job')
        .where('endedAt', '<', timeText(now - RETAINED_MS))
        .returningAll()
        .execute(),
    )
    const digests = removed.flatMap(({ result }) => result?.files ?? []).map(({ digest }) => digest)
    const used = await this.database.inOrg(actor, (rows) =>
      rows
        .selectFrom('runFile')
        .select('digest')
        .where('digest', 'in', [...digests, ''])
        .execute(),
    )
    const inUse = new Set(used.map(({ digest }) => digest))
    for (const digest of digests.filter((each) => !inUse.has(each)))
      await this.blobs.removeFile(actor.org, digest)
    return removed.length
  }

  #notify(org: string, row: JobRow): void {
    const change = { org, job: jobOf(row) }
    for (const listener of this.#listeners) listener(change)
  }

  // For workers

  /** Waits for the next job. Undefined on timeout or abort. */
  async claim(
    card: WorkerCard,
    options: { readonly waitMs: number; readonly signal?: AbortSignal },
  ): Promise<ClaimedJob | undefined> {
    const until = Date.now() + options.waitMs
    this.#workerSeen(card)
    while (!this.#isClosed && options.signal?.aborted !== true) {
      const claimed = await this.#claimNext(card)
      if (claimed !== undefined) return claimed
      const left = until - Date.now()
      if (left <= 0) return undefined
      using deadline = new Deadline({ ms: Math.min(POLL_MS, left), signals: [options.signal] })
      await once(this.#news, 'job', { signal: deadline.signal }).catch(() => {})
    }
    return undefined
  }

  async #claimNext(card: WorkerCard): Promise<ClaimedJob | undefined> {
    // If no worker has a sandbox, a job must not wait forever. This worker refuses it with a reason.
    const mayRunCode = card.hasSandbox || !this.workers().some(({ hasSandbox }) => hasSandbox)
    const taken = await this.queue.take(mayRunCode)
    if (taken === undefined) return undefined
    const { org, id } = taken
    const row = await this.database.inOrg(systemActor(org), async (rows) => {
      const found = await rows
        .selectFrom('job')
        .selectAll()
        .where('id', '=', id)
        .forUpdate()
        .executeTakeFirst()
      if (found?.state !== 'waiting' && found?.state !== 'running') return undefined
      if (found.result !== null) return found
      return rows
        .updateTable('job')
        .set(
          found.attempts - found.releases >= ATTEMPTS_MAX
            ? {
                state: 'failed',
                endedAt: timeText(),
                result: {
                  error: {
                    code: 'JOB_ABANDONED',
                    what: 'The job was abandoned.',
                    why: `Its worker disappeared ${ATTEMPTS_MAX} times. The last one was ${found.worker ?? 'unknown'}.`,
                  },
                },
              }
            : {
                state: 'running',
                attempts: found.attempts + 1,
                worker: card.name,
                startedAt: timeText(),
                progress: null,
              },
        )
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
    if (row?.state !== 'running' || row.result !== null) {
      // The server stopped after accepting the result.
      if (row?.state === 'running') await this.#store(org, row)
      else await this.queue.remove(org, id)
      if (row !== undefined) this.#notify(org, row)
      return this.#claimNext(card)
    }
    this.#notify(org, row)
    this.#workerSeen(card, 1)
    const job = jobOf(row)
    return {
      ticket: this.#tickets.make(org, id, job.attempts),
      run: job.run,
      kind: job.kind,
      options: job.options,
      timeLimitMs: timeLimitMs(job),
      hasModel: card.hasSandbox && (await this.models.find(systemActor(org))) !== undefined,
    }
  }

  /** Returns the job of a worker that is stopping. This does not count as an attempt. */
  async release(ticket: string): Promise<void> {
    const attempt = this.#readTicket(ticket)
    const { worker } = (await this.#running(attempt)) ?? {}
    const row = await this.#change(attempt, {
      state: 'waiting',
      worker: null,
      startedAt: null,
      progress: null,
      releases: sql<number>`releases + 1`,
    })
    if (row === undefined) return
    this.#workerFreed(worker)
    await this.queue.retry(attempt.org, attempt.id)
    this.#notify(attempt.org, row)
    this.#news.emit('job')
  }

  /** Forwards a request of the attempt's program to the model. */
  async model(ticket: string, request: SandboxRequest, signal: AbortSignal): Promise<ModelAnswer> {
    const { actor, job } = await this.#claimed(ticket)
    return this.models.forward(actor, job.id, request, signal)
  }

  /** Reports progress of an attempt. False if the worker must stop it. */
  async heartbeat(ticket: string, progress = '', now = Date.now()): Promise<boolean> {
    const attempt = this.#readTicket(ticket)
    const row = await this.#running(attempt)
    if (row === undefined) return false
    const job = jobOf(row)
    if (row.startedAt !== null && now - Date.parse(row.startedAt) > timeLimitMs(job) + 30_000) {
      await this.finish(ticket, {
        error: {
          code: 'JOB_TIMED_OUT',
          what: 'The job was stopped.',
          why: `It took longer than ${kindOfJob(job.kind).minutes} minutes.`,
        },
      })
      return false
    }
    const worker = this.#workers.get(row.worker ?? '')
    if (worker !== undefined) this.#workers.set(worker.name, { ...worker, seenAt: now })
    await this.queue.touch(attempt.org, attempt.id)
    // Removes control and format characters.
    const text = progress
      .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim()
      .slice(0, PROGRESS_MAX)
    if (text === '' || text === row.progress) return true
    const changed = await this.#change(attempt, { progress: text })
    if (changed !== undefined) this.#notify(attempt.org, changed)
    return true
  }

  /** Files that an attempt needs: those of the run and of its ancestors. */
  async files(ticket: string): Promise<StoredFile[]> {
    const { actor, project, job } = await this.#claimed(ticket)
    return this.#filesOf(actor, project, job.run)
  }

  async #filesOf(actor: Actor, project: StoredProject, run: string): Promise<StoredFile[]> {
    const files: StoredFile[] = []
    const seen = new Set<string>()
    for (let at: string | null = run; at !== null && !seen.has(at);) {
      seen.add(at)
      files.push(...(await this.runs.files(actor, project, at)))
      at = (await this.runs.run(actor, project, at)).parent
    }
    return files
  }

  async file(ticket: string, digest: string): Promise<AsyncIterable<Uint8Array>> {
    const known = await this.files(ticket)
    if (!known.some((file) => file.digest === digest)) throw serverErrors.NOT_FOUND('file')
    const { actor } = await this.#claimed(ticket)
    return this.runs.readFile(actor, digest)
  }

  async receive(
    ticket: string,
    part: Omit<UploadPart, 'org'>,
    body: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    const { actor } = await this.#claimed(ticket)
    return this.runs.receive(actor, part, body)
  }

  /**
   * Accepts the result of an attempt and adds its branches to the project. Returns false if the job
   * already has a result, was stopped, or has another attempt.
   */
  async finish(ticket: string, given: JobResult): Promise<boolean> {
    const attempt = this.#readTicket(ticket)
    const row = await this.#change(attempt, { result: checkResult(given) })
    if (row === undefined) return false
    await this.#store(attempt.org, row)
    return true
  }

  /** Updates a job whose attempt is running and has no result. Undefined if the attempt is over. */
  #change(
    { org, id, number }: Attempt,
    changes: UpdateObject<Tables, 'job'>,
  ): Promise<JobRow | undefined> {
    return this.database.inOrg(systemActor(org), (rows) =>
      rows
        .updateTable('job')
        .set(changes)
        .where('id', '=', id)
        .where('state', '=', 'running')
        .where('attempts', '=', number)
        .where('result', 'is', null)
        .returningAll()
        .executeTakeFirst(),
    )
  }

  /** Applies an accepted result. Idempotent. */
  async #store(org: string, row: JobRow): Promise<void> {
    const job = jobOf(row)
    const actor = jobActor(org, job)
    let result = job.result ?? {}
    try {
      const project = await this.#project(actor, job.project)
      for (const { run, files } of result.runs ?? [])
        await this.runs.commit(actor, project, { run, files, allowSecrets: true })
    } catch (error) {
      if (!(error instanceof RetakeError)) throw error
      const { code, what, why, fix } = error
      result = { ...result, error: { code, what, why, fix } }
    }
    const costUsd = await this.models.spentBy(actor, job.id)
    if (costUsd > 0) result = { ...result, costUsd }
    const ended = await this.database.inOrg(actor, (rows) =>
      rows
        .updateTable('job')
        .set({
          state: result.error === undefined ? 'done' : 'failed',
          endedAt: timeText(),
          progress: null,
          result,
        })
        .where('id', '=', row.id)
        .where('state', '=', 'running')
        .returningAll()
        .executeTakeFirst(),
    )
    await this.queue.remove(org, row.id)
    this.#workerFreed(row.worker)
    if (ended !== undefined) this.#notify(org, ended)
  }

  async #project(actor: Actor, id: string): Promise<StoredProject> {
    const project = (await this.runs.projects(actor)).find((each) => each.id === id)
    if (project === undefined) throw serverErrors.NOT_FOUND('project')
    return project
  }

  async #claimed(ticket: string) {
    const attempt = this.#readTicket(ticket)
    const row = await this.#running(attempt)
    if (row === undefined) throw serverErrors.NOT_FOUND('job')
    const job = jobOf(row)
    const actor = jobActor(attempt.org, job)
    return { actor, job, project: await this.#project(actor, job.project) }
  }

  #running({ org, id, number }: Attempt): Promise<JobRow | undefined> {
    return this.database.inOrg(systemActor(org), (rows) =>
      rows
        .selectFrom('job')
        .selectAll()
        .where('id', '=', id)
        .where('state', '=', 'running')
        .where('attempts', '=', number)
        .executeTakeFirst(),
    )
  }

  #readTicket(ticket: string): Attempt {
    const [org, id, number] = this.#tickets.read(ticket) ?? []
    if (org === undefined || id === undefined) throw serverErrors.NOT_FOUND('job')
    return { org, id, number: Number(number) }
  }

  #workerFreed(name: string | null | undefined): void {
    const worker = this.#workers.get(name ?? '')
    if (worker !== undefined) this.#workerSeen(worker, -1)
  }

  #workerSeen(card: WorkerCard, more = 0): void {
    const { name, version, slots, hasSandbox } = card
    const running = Math.max(0, (this.#workers.get(name)?.running ?? 0) + more)
    this.#workers.set(name, { name, version, slots, hasSandbox, running, seenAt: Date.now() })
  }

  // The queue

  /** Adds unfinished jobs to the queue again, because a backup does not include the queue. */
  async restoreQueue(log: Log): Promise<void> {
    for (const { id: org } of await this.database.organizations())
      try {
        const open = await this.database.inOrg(systemActor(org), (rows) =>
          rows.selectFrom('job').selectAll().where('endedAt', 'is', null).execute(),
        )
        for (const row of open) {
          const { kind, options } = jobOf(row)
          await this.queue.add(org, row.id, kindOfJob(kind).runsCode(options))
        }
      } catch (error) {
        log.error('could not restore the jobs of an organization', error, { org })
      }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#news.emit('job')
    await this.queue.close()
  }
}

type JobRow = Selectable<Tables['job']>

/** Results are added on behalf of the user who started the job. */
const jobActor = (org: string, { kind, createdBy }: TeamJob): Actor => ({
  org,
  user: `${createdBy} (${kind} job)`,
  role: 'member',
})

const timeLimitMs = ({ kind }: TeamJob): number => kindOfJob(kind).minutes * 60_000

const jobOf = ({ org: _org, releases: _releases, ...job }: JobRow): TeamJob => job

/** Validates a worker's result as untrusted input: the worker ran the agent's code. */
function checkResult(given: JobResult): JobResult {
  const invalid = (why: string) => serverErrors.REQUEST_INVALID('The result', why)
  const { exitCode, summary, output, error, hint, runs = [], files = [] } = given
  if (!Array.isArray(runs) || !Array.isArray(files) || runs.length + files.length > FILES_MAX)
    throw invalid(`The limit is ${FILES_MAX} runs and files.`)
  for (const { name, digest } of files)
    if (!isFileName(String(name)) || !isDigest(String(digest)))
      throw invalid(`"${String(name).slice(0, 80)}" is not a valid file name.`)
  const shown = (text: unknown): string =>
    (typeof text === 'string' ? text : '').replaceAll('\0', ' ').slice(-OUTPUT_MAX)
  const { code, what, why, fix } = error ?? {}
  const facts = summary === undefined ? undefined : JSON.stringify(summary)
  return {
    ...(typeof exitCode === 'number' && { exitCode }),
    ...(facts !== undefined &&
      facts.length <= SUMMARY_MAX && {
        // PostgreSQL cannot store `\u0000` in JSON. Escaped backslashes before `u0000` are text.
        summary: JSON.parse(facts.replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1 ')) as unknown,
      }),
    ...(output !== undefined && { output: shown(output) }),
    ...(error !== undefined && {
      error: { code: shown(code), what: shown(what), why: shown(why), fix: shown(fix) },
    }),
    ...(hint !== undefined && { hint: shown(hint) }),
    runs,
    files,
  }
}
