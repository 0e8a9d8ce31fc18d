import { sql } from 'kysely'
import { reason, RetakeError } from '@retake/engine/errors'
import { recordOf } from '@retake/tape/format'
import { type Database, type OrgRows, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { Log } from '../edge/log.js'
import type { RetakeParts, RunFacts } from '../edge/parts.js'
import { checkSlug, newId } from '../people/accounts.js'
import type { Settings } from '../edge/settings.js'
import { type BlobStore, isDigest } from '../storage/blob-store.js'
import { isFileName, isCodeArchive, RunCache, type UploadPart } from './run-cache.js'
import { matchingRuns, parseRunQuery, wordsOf } from './run-query.js'
import { audit } from '../database/audit.js'
import type {
  Actor,
  StoredFile,
  StoredProject,
  TeamRunRow,
  RunComment,
  SavedFilter,
} from '../database/tables.js'

export interface PushRequest {
  readonly run: string
  readonly files: readonly StoredFile[]
  readonly allowSecrets?: boolean
  readonly tags?: readonly string[]
  readonly note?: string
}

interface ProjectRecord extends StoredProject {
  readonly version: 1
  readonly filters: readonly SavedFilter[]
}

/**
 * A run as stored next to its files. The database is only an index that can be rebuilt from these
 * records.
 */
interface RunRecord {
  readonly version: 1
  readonly project: string
  readonly run: string
  readonly files: readonly StoredFile[]
  readonly pushedBy: string
  readonly pushedAt: string
  readonly tags: readonly string[]
  readonly note: string | null
  readonly comments: readonly RunComment[]
}

export interface LiveRun {
  readonly id: string
  readonly name: string
  readonly steps: number
  readonly startedAt: string
}

export interface RunChange {
  readonly org: string
  readonly project: string
  readonly run: string
  readonly kind: 'pushed' | 'changed' | 'removed'
  readonly row?: TeamRunRow
  /** True for the first failure of its cluster. */
  readonly isNewCluster?: boolean
}

const RUN_ID = /^[\w-]+(?:\.[\w-]+)*$/
const FILES_MAX = 2000
const PAGE = 50
const TEXT_MAX = 200_000
const LIVE_MAX = 20
const TAG = /^[\p{L}\p{N}][\p{L}\p{N}._/-]{0,63}$/u

/** The runs of all projects. Every method acts within the organization of the actor. */
export class TeamRuns {
  readonly cache: RunCache
  readonly #listeners = new Set<(change: RunChange) => void>()

  constructor(
    private readonly database: Database,
    private readonly blobs: BlobStore,
    private readonly parts: RetakeParts,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {
    this.cache = new RunCache(settings.data, blobs)
  }

  /** Reports changes until the returned function is called. */
  watch(listener: (change: RunChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(change: RunChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  // Projects

  async projects(actor: Actor): Promise<StoredProject[]> {
    return this.database.inOrg(actor, (rows) =>
      rows.selectFrom('project').select(PROJECT).orderBy('name').execute(),
    )
  }

  /** Finds a project by its slug. Throws if it does not exist. */
  async project(actor: Actor, slug: string): Promise<StoredProject> {
    const found = await this.database.inOrg(actor, (rows) =>
      rows.selectFrom('project').select(PROJECT).where('slug', '=', slug).executeTakeFirst(),
    )
    if (found === undefined) throw serverErrors.NOT_FOUND('project')
    return found
  }

  async createProject(
    actor: Actor,
    { slug, name }: { slug: string; name: string },
  ): Promise<StoredProject> {
    checkSlug(slug)
    if (name.trim() === '' || name.length > 100)
      throw serverErrors.REQUEST_INVALID('The name', 'It must have 1 to 100 characters.')
    const project = { id: newId('p'), slug, name, retentionDays: null, badgeToken: newId('b') }
    await this.#storeProject(actor, project, [])
    const made = await this.database.inOrg(actor, async (rows) => {
      const row = await rows
        .insertInto('project')
        .values({ org: actor.org, ...project })
        .onConflict((conflict) => conflict.columns(['org', 'slug']).doNothing())
        .returning('id')
        .executeTakeFirst()
      if (row !== undefined) await audit(rows, actor, 'project.create', slug)
      return row
    })
    if (made === undefined) {
      await this.blobs.removeRecord(actor.org, `projects/${project.id}`)
      throw serverErrors.REQUEST_INVALID('The URL name', `A project "${slug}" already exists.`)
    }
    return project
  }

  async setRetention(
    actor: Actor,
    project: StoredProject,
    retentionDays: number | null,
  ): Promise<void> {
    await this.database.inOrg(actor, async (rows) => {
      const row = await rows
        .updateTable('project')
        .set({ retentionDays })
        .where('id', '=', project.id)
        .returning(PROJECT)
        .executeTakeFirst()
      if (row === undefined) throw serverErrors.NOT_FOUND('project')
      await audit(rows, actor, 'project.retention', project.slug, { retentionDays })
      await this.#storeProject(actor, row, await filtersOf(rows, project))
    })
  }

  async #storeProject(
    actor: Actor,
    project: StoredProject,
    filters: readonly SavedFilter[],
  ): Promise<void> {
    const record: ProjectRecord = { version: 1, ...project, filters }
    await this.blobs.putRecord(actor.org, `projects/${project.id}`, record)
  }

  // Push and pull

  /** Files that the server does not have, with the number of bytes that have arrived. */
  async missing(
    actor: Actor,
    files: readonly StoredFile[],
  ): Promise<{ readonly digest: string; readonly received: number }[]> {
    checkFiles(files, this.settings)
    await this.#checkQuota(actor, files)
    const sizes = new Map(files.map(({ digest, bytes }) => [digest, bytes]))
    const missing = await Promise.all(
      [...sizes].map(async ([digest, bytes]) => {
        if (await this.blobs.hasFile(actor.org, digest)) return []
        await this.cache.resume(actor.org, digest, bytes)
        if (await this.blobs.hasFile(actor.org, digest)) return []
        return [{ digest, received: await this.cache.received(actor.org, digest) }]
      }),
    )
    return missing.flat()
  }

  async receive(
    actor: Actor,
    part: Omit<UploadPart, 'org'>,
    body: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    if (!isDigest(part.digest))
      throw serverErrors.REQUEST_INVALID('The digest', 'It is not a hexadecimal SHA-256 digest.')
    const { maxFileBytes } = this.settings
    if (part.size > maxFileBytes) throw serverErrors.TOO_LARGE('The file', part.size, maxFileBytes)
    if (await this.blobs.hasFile(actor.org, part.digest)) return part.size
    // Checked here because workers upload results without announcing them.
    if (part.offset === 0) await this.#checkQuota(actor, [{ bytes: part.size }])
    return this.cache.receive({ org: actor.org, ...part }, body)
  }

  /** Appends to a recording in progress. Returns the number of bytes that have arrived. */
  async appendLive(
    actor: Actor,
    project: StoredProject,
    { run, offset }: { readonly run: string; readonly offset: number },
    body: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    checkRunId(run)
    if ((await this.#find(actor, project, run)) !== undefined) throw serverErrors.RUN_DIFFERS(run)
    const { maxFileBytes: max } = this.settings
    const part = { org: actor.org, project: project.id, run, offset, max }
    const length = await this.cache.appendLive(part, body)
    if (offset === 0) this.#notify({ org: actor.org, project: project.id, run, kind: 'changed' })
    return length
  }

  /** Recordings in progress, newest first, as far as their tapes have arrived. */
  async liveRuns(actor: Actor, project: StoredProject): Promise<LiveRun[]> {
    const ids = this.cache.liveRuns(actor.org, project.id).slice(0, LIVE_MAX)
    const folder = this.cache.folderOf(actor.org, project.id)
    const runs = ids.map(async (id): Promise<LiveRun> => {
      const facts = await this.parts.describe(`${folder}/${id}.tape`).catch(() => undefined)
      const { name = id, steps = 0, startedAt = Date.now() } = facts?.card ?? {}
      return { id, name, steps, startedAt: new Date(startedAt).toISOString() }
    })
    return (await Promise.all(runs)).toSorted((a, b) => b.startedAt.localeCompare(a.startedAt))
  }

  /** Adds a run whose files were uploaded. Idempotent. */
  async commit(
    actor: Actor,
    project: StoredProject,
    pushed: PushRequest,
  ): Promise<'created' | 'exists'> {
    const { run, files } = pushed
    const tape = checkPush(pushed, this.settings)
    const before = await this.#find(actor, project, run)
    if (before !== undefined) {
      if (before.digest !== tape.digest) throw serverErrors.RUN_DIFFERS(run)
      await this.#addCode(actor, project, pushed)
      return 'exists'
    }
    await this.#checkQuota(actor, files)
    await this.#adoptAll(actor, project, files)
    await this.cache.fetch(actor.org, project.id, files)
    const folder = this.cache.folderOf(actor.org, project.id)
    const facts = await this.#describe(actor, project, `${folder}/${tape.name}`)
    const { id } = facts.card
    if (id !== run) throw serverErrors.TAPE_REFUSED(`It is the tape of run ${id}, not of ${run}.`)
    if (pushed.allowSecrets !== true) await this.#checkSecrets(actor, project, files)
    const record: RunRecord = {
      version: 1,
      project: project.id,
      run,
      files,
      pushedBy: actor.user,
      pushedAt: new Date().toISOString(),
      tags: [...new Set(pushed.tags ?? facts.card.tags)],
      note: pushed.note ?? null,
      comments: [],
    }
    checkTags(record.tags)
    await this.blobs.putRecord(actor.org, recordName(project, run), record)
    const isNewCluster = await this.database.inOrg(actor, async (rows) => {
      const isNew = await isFirstOfCluster(rows, project, facts)
      await insertRun(rows, actor.org, record, facts, tape)
      return isNew
    })
    await this.cache.forgetUploads(actor.org, files)
    this.#notify({
      org: actor.org,
      project: project.id,
      run,
      kind: 'pushed',
      row: await this.run(actor, project, run),
      isNewCluster,
    })
    return 'created'
  }

  async #adoptAll(
    actor: Actor,
    project: StoredProject,
    files: readonly StoredFile[],
  ): Promise<void> {
    for (const file of files) {
      if (!(await this.blobs.hasFile(actor.org, file.digest)))
        throw serverErrors.TAPE_REFUSED(`The file ${file.name} was not uploaded.`)
      await this.cache.adopt(actor.org, project.id, file)
    }
  }

  /** Adds the code of a run that was pushed without it. Existing code is never replaced. */
  async #addCode(actor: Actor, project: StoredProject, { run, files }: PushRequest): Promise<void> {
    const known = new Set((await this.files(actor, project, run)).map(({ name }) => name))
    const added = files.filter(
      (file) => isCodeArchive(file) && file.name.startsWith(`${run}.`) && !known.has(file.name),
    )
    if (added.length === 0) return
    await this.#checkQuota(actor, added)
    await this.#adoptAll(actor, project, added)
    await this.#change(actor, project, run, async (rows, record) => {
      await rows
        .insertInto('runFile')
        .values(added.map((file) => ({ org: actor.org, project: project.id, run, ...file })))
        .onConflict((conflict) => conflict.columns(['org', 'project', 'run', 'name']).doNothing())
        .execute()
      return { ...record, files: [...record.files, ...added] }
    })
    await this.cache.forgetUploads(actor.org, added)
  }

  /** Describes a tape. The ancestors of a branch are fetched first. */
  async #describe(actor: Actor, project: StoredProject, file: string): Promise<RunFacts> {
    try {
      return await this.parts.describe(file)
    } catch (error) {
      const missing = error instanceof MissingParent ? error.run : undefined
      if (missing === undefined)
        throw serverErrors.TAPE_REFUSED(
          error instanceof RetakeError ? `${error.what} ${error.why}` : reason(error),
        )
      if ((await this.#find(actor, project, missing)) === undefined)
        throw serverErrors.TAPE_REFUSED(
          `It continues run ${missing}, which this project does not have.`,
        )
      await this.open(actor, project, missing)
      return this.parts.describe(file)
    }
  }

  async #checkSecrets(
    actor: Actor,
    project: StoredProject,
    files: readonly StoredFile[],
  ): Promise<void> {
    const folder = this.cache.folderOf(actor.org, project.id)
    for (const { name } of files.filter((file) => file.name.endsWith('.tape'))) {
      const findings = await this.parts.findSecrets(`${folder}/${name}`)
      if (findings.length > 0) {
        await this.cache.remove(actor.org, project.id, files)
        throw serverErrors.RUN_HAS_SECRETS(findings.slice(0, 5))
      }
    }
  }

  async #checkQuota(actor: Actor, files: readonly Pick<StoredFile, 'bytes'>[]): Promise<void> {
    const { quotaBytes } = this.settings
    const used = await this.storageUsed(actor)
    const more = files.reduce((sum, { bytes }) => sum + bytes, 0)
    if (used + more > quotaBytes) throw serverErrors.QUOTA_REACHED(quotaBytes)
  }

  async storageUsed(actor: Actor): Promise<number> {
    const row = await this.database.inOrg(actor, (rows) =>
      rows.selectFrom('storageUsed').select('bytes').executeTakeFirst(),
    )
    return row?.bytes ?? 0
  }

  // Reading

  /** A page of runs, newest first. `before` is the cursor of the previous page. */
  async list(
    actor: Actor,
    project: StoredProject,
    { query = '', before }: { readonly query?: string; readonly before?: string },
  ): Promise<{ readonly runs: TeamRunRow[]; readonly next?: string }> {
    const parsed = parseRunQuery(query)
    const cursor = before === undefined ? undefined : parseCursor(before)
    const rows = await this.database.inOrg(actor, (each) => {
      const matching = matchingRuns(each, project.id, parsed)
      const from =
        cursor === undefined
          ? matching
          : matching.where(
              sql<boolean>`(started_at, id) < (${cursor.startedAt}::timestamptz, ${cursor.id})`,
            )
      return from
        .select(COLUMNS)
        .orderBy('startedAt', 'desc')
        .orderBy('id', 'desc')
        .limit(PAGE + 1)
        .execute()
    })
    const runs = rows.slice(0, PAGE)
    const last = runs.at(-1)
    return {
      runs,
      ...(rows.length > PAGE && last && { next: `${Date.parse(last.startedAt)}_${last.id}` }),
    }
  }

  async run(actor: Actor, project: StoredProject, run: string): Promise<TeamRunRow> {
    const row = await this.#find(actor, project, run)
    if (row === undefined) throw serverErrors.NOT_FOUND('run')
    return row
  }

  async #find(actor: Actor, project: StoredProject, run: string): Promise<TeamRunRow | undefined> {
    return this.database.inOrg(actor, (rows) =>
      rows
        .selectFrom('run')
        .select(COLUMNS)
        .where('project', '=', project.id)
        .where('id', '=', run)
        .executeTakeFirst(),
    )
  }

  async files(actor: Actor, project: StoredProject, run: string): Promise<StoredFile[]> {
    const rows = await this.database.inOrg(actor, (each) =>
      each
        .selectFrom('runFile')
        .select(['name', 'digest', 'bytes'])
        .where('project', '=', project.id)
        .where('run', '=', run)
        .orderBy('name')
        .execute(),
    )
    if (rows.length === 0) throw serverErrors.NOT_FOUND('run')
    return rows
  }

  /** Copies a run and its ancestors to the folder of the project. Returns the path of its tape. */
  async open(actor: Actor, project: StoredProject, run: string): Promise<string> {
    const seen = new Set<string>()
    for (let at: string | null = run; at !== null && !seen.has(at);) {
      seen.add(at)
      await this.cache.fetch(actor.org, project.id, await this.files(actor, project, at))
      at = (await this.run(actor, project, at)).parent
    }
    return `${this.cache.folderOf(actor.org, project.id)}/${run}.tape`
  }

  /** The content of a file that a run of the organization uses. */
  async readFile(actor: Actor, digest: string): Promise<AsyncIterable<Uint8Array>> {
    const used = await this.database.inOrg(actor, (rows) =>
      rows.selectFrom('runFile').select('digest').where('digest', '=', digest).executeTakeFirst(),
    )
    const content = used && (await this.blobs.readFile(actor.org, digest))
    if (content === undefined) throw serverErrors.NOT_FOUND('file')
    return content
  }

  /** Groups of failures, newest first; from all projects if `project` is undefined. */
  async clusters(
    actor: Actor,
    project: StoredProject | undefined,
    since: Date,
  ): Promise<TeamCluster[]> {
    return this.database.inOrg(actor, (rows) =>
      runsOf(rows, project)
        .select([
          'project',
          sql<string>`cluster`.as('cluster'),
          sql<number>`count(*)`.as('count'),
          sql<string | null>`(array_agg(failure order by started_at desc))[1]`.as('failure'),
          sql<string>`(array_agg(id order by started_at desc))[1]`.as('run'),
          sql<string>`max(started_at)`.as('last'),
        ])
        .where('cluster', 'is not', null)
        .where('startedAt', '>=', since.toISOString())
        .groupBy(['project', 'cluster'])
        .orderBy('last', 'desc')
        .limit(50)
        .execute(),
    )
  }

  /** Figures per day since a time; from all projects if `project` is undefined. */
  async activity(
    actor: Actor,
    project: StoredProject | undefined,
    since: Date,
  ): Promise<DayActivity[]> {
    const duration = (share: number) =>
      sql<number>`coalesce(percentile_cont(${share}::float8) within group (order by duration_ms), 0)`
    return this.database.inOrg(actor, (rows) =>
      runsOf(rows, project)
        .select([
          sql<string>`to_char(started_at, 'YYYY-MM-DD')`.as('day'),
          sql<number>`count(*)`.as('runs'),
          sql<number>`count(*) filter (where status <> 'done')`.as('failed'),
          sql<number>`coalesce(sum(cost_usd), 0)`.as('costUsd'),
          duration(0.5).as('p50Ms'),
          duration(0.95).as('p95Ms'),
        ])
        .where('startedAt', '>=', since.toISOString())
        .groupBy('day')
        .orderBy('day')
        .execute(),
    )
  }

  async savedFilters(actor: Actor, project: StoredProject): Promise<SavedFilter[]> {
    return this.database.inOrg(actor, (rows) => filtersOf(rows, project))
  }

  // Changes

  /** Saves a search for all members. Replaces one with the same name. */
  async saveFilter(
    actor: Actor,
    project: StoredProject,
    { name, query }: { readonly name: string; readonly query: string },
  ): Promise<void> {
    parseRunQuery(query)
    if (name.trim() === '' || name.length > 60)
      throw serverErrors.REQUEST_INVALID('The name', 'It must have 1 to 60 characters.')
    await this.#changeFilters(actor, project, async (rows) => {
      await rows
        .insertInto('savedFilter')
        .values({ org: actor.org, project: project.id, name, query, author: actor.user })
        .onConflict((conflict) =>
          conflict.columns(['org', 'project', 'name']).doUpdateSet({ query, author: actor.user }),
        )
        .execute()
    })
  }

  async removeFilter(actor: Actor, project: StoredProject, name: string): Promise<void> {
    await this.#changeFilters(actor, project, async (rows) => {
      const removed = await rows
        .deleteFrom('savedFilter')
        .where('project', '=', project.id)
        .where('name', '=', name)
        .returning('name')
        .executeTakeFirst()
      if (removed === undefined) throw serverErrors.NOT_FOUND('saved filter')
    })
  }

  /** Updates saved filters in the index and in the record of the project. */
  async #changeFilters(
    actor: Actor,
    project: StoredProject,
    change: (rows: OrgRows) => Promise<void>,
  ): Promise<void> {
    await this.database.inOrg(actor, async (rows) => {
      const row = await rows
        .selectFrom('project')
        .select(PROJECT)
        .where('id', '=', project.id)
        .forUpdate()
        .executeTakeFirst()
      if (row === undefined) throw serverErrors.NOT_FOUND('project')
      await change(rows)
      await this.#storeProject(actor, row, await filtersOf(rows, project))
    })
  }

  async setTags(
    actor: Actor,
    project: StoredProject,
    run: string,
    change: { readonly tags?: readonly string[]; readonly note?: string | null },
  ): Promise<TeamRunRow> {
    if (change.tags !== undefined) checkTags(change.tags)
    await this.#change(actor, project, run, async (rows, record) => {
      const tags = change.tags === undefined ? record.tags : [...new Set(change.tags)]
      const note = change.note === undefined ? record.note : change.note
      if (record.tags.includes('hold') !== tags.includes('hold'))
        await audit(rows, actor, tags.includes('hold') ? 'run.hold' : 'run.release', run)
      await rows
        .updateTable('run')
        .set({ tags: [...tags], note })
        .where('project', '=', project.id)
        .where('id', '=', run)
        .execute()
      return { ...record, tags, note }
    })
    return this.run(actor, project, run)
  }

  async addComment(
    actor: Actor,
    project: StoredProject,
    run: string,
    { step, text }: { readonly step: string | null; readonly text: string },
  ): Promise<RunComment> {
    if (text.trim() === '' || text.length > 10_000)
      throw serverErrors.REQUEST_INVALID(
        'The comment',
        'It is empty, or has more than 10,000 characters.',
      )
    const comment: RunComment = {
      id: newId('c'),
      step,
      author: actor.user,
      text,
      at: new Date().toISOString(),
    }
    await this.#change(actor, project, run, async (rows, record) => {
      await rows
        .insertInto('comment')
        .values({ org: actor.org, project: project.id, run, ...comment })
        .execute()
      return { ...record, comments: [...record.comments, comment] }
    })
    return comment
  }

  async comments(actor: Actor, project: StoredProject, run: string): Promise<RunComment[]> {
    return this.database.inOrg(actor, (rows) =>
      rows
        .selectFrom('comment')
        .select(['id', 'step', 'author', 'text', 'at'])
        .where('project', '=', project.id)
        .where('run', '=', run)
        .orderBy('at')
        .execute(),
    )
  }

  /** Updates the record of a run and the index. Changes of the same run are serialized. */
  async #change(
    actor: Actor,
    project: StoredProject,
    run: string,
    change: (rows: OrgRows, record: RunRecord) => Promise<RunRecord>,
  ): Promise<void> {
    await this.database.inOrg(actor, async (rows) => {
      const locked = await rows
        .selectFrom('run')
        .select('id')
        .where('project', '=', project.id)
        .where('id', '=', run)
        .forUpdate()
        .executeTakeFirst()
      if (locked === undefined) throw serverErrors.NOT_FOUND('run')
      const name = recordName(project, run)
      const record = (await this.blobs.readRecord(actor.org, name)) as RunRecord
      await this.blobs.putRecord(actor.org, name, await change(rows, record))
    })
    this.#notify({ org: actor.org, project: project.id, run, kind: 'changed' })
  }

  /** Removes a run, except files that other runs use. Throws if it is on hold or has branches. */
  async remove(actor: Actor, project: StoredProject, run: string): Promise<void> {
    const unused = await this.database.inOrg(actor, async (rows) => {
      const row = await rows
        .selectFrom('run')
        .select(['tags'])
        .where('project', '=', project.id)
        .where('id', '=', run)
        .forUpdate()
        .executeTakeFirst()
      if (row === undefined) throw serverErrors.NOT_FOUND('run')
      if (row.tags.includes('hold')) throw serverErrors.RUN_LOCKED(run)
      const branch = await rows
        .selectFrom('run')
        .select('id')
        .where('project', '=', project.id)
        .where('parent', '=', run)
        .executeTakeFirst()
      if (branch !== undefined) throw serverErrors.RUN_CONTINUED(run, branch.id)
      await audit(rows, actor, 'run.remove', `${project.slug}/${run}`)
      // The record first: without it, rebuilding the index does not restore the run.
      await this.blobs.removeRecord(actor.org, recordName(project, run))
      const files = await rows
        .deleteFrom('runFile')
        .where('project', '=', project.id)
        .where('run', '=', run)
        .returning(['name', 'digest', 'bytes'])
        .execute()
      await rows.deleteFrom('run').where('project', '=', project.id).where('id', '=', run).execute()
      const still = await rows
        .selectFrom('runFile')
        .select('digest')
        .where('digest', 'in', [...files.map(({ digest }) => digest), ''])
        .execute()
      const used = new Set(still.map(({ digest }) => digest))
      return files.filter(({ digest }) => !used.has(digest))
    })
    await this.cache.remove(actor.org, project.id, unused)
    for (const { digest } of unused) await this.blobs.removeFile(actor.org, digest)
    this.#notify({ org: actor.org, project: project.id, run, kind: 'removed' })
  }

  /** Removes runs that are older than the retention of their project, except pinned and held ones. */
  async applyRetention(actor: Actor): Promise<number> {
    let removed = 0
    for (const project of await this.projects(actor)) {
      if (project.retentionDays === null) continue
      const days = Math.max(project.retentionDays, this.settings.retentionFloorDays)
      const before = timeText(Date.now() - days * 86_400_000)
      const old = await this.database.inOrg(actor, (rows) =>
        rows
          .selectFrom('run')
          .select('id')
          .where('project', '=', project.id)
          .where('startedAt', '<', before)
          .where(sql<boolean>`not tags && array['hold', 'pin']`)
          // Branches are newer than their parents, and must be removed first.
          .orderBy('startedAt', 'desc')
          .limit(1000)
          .execute(),
      )
      for (const { id } of old)
        try {
          await this.remove(actor, project, id)
          removed += 1
        } catch (error) {
          if (!(error instanceof RetakeError)) throw error
        }
    }
    return removed
  }

  /** Rebuilds the index of an organization from the stored records and tapes. */
  async reindex(actor: Actor): Promise<{ readonly runs: number; readonly problems: string[] }> {
    const problems: string[] = []
    const projects: ProjectRecord[] = []
    for (const name of await this.blobs.records(actor.org, 'projects'))
      projects.push((await this.blobs.readRecord(actor.org, name)) as ProjectRecord)
    const records = await this.#storedRuns(actor, problems)
    await this.database.inOrg(actor, async (rows) => {
      await rows.deleteFrom('run').execute()
      const known = projects.map(({ id }) => id)
      await rows
        .deleteFrom('project')
        .where('id', 'not in', [...known, ''])
        .execute()
      for (const { version: _version, filters: _filters, ...project } of projects)
        await rows
          .insertInto('project')
          .values({ org: actor.org, ...project })
          .onConflict((conflict) => conflict.columns(['org', 'id']).doNothing())
          .execute()
      const filters = projects.flatMap(({ id, filters: saved }) =>
        saved.map((each) => ({ org: actor.org, project: id, ...each })),
      )
      if (filters.length > 0)
        await rows
          .insertInto('savedFilter')
          .values(filters)
          .onConflict((conflict) => conflict.columns(['org', 'project', 'name']).doNothing())
          .execute()
    })
    let count = 0
    for (const record of records) {
      const project = projects.find(({ id }) => id === record.project)
      const tape = record.files.find(({ name }) => name === `${record.run}.tape`)
      try {
        if (project === undefined || tape === undefined) throw new Error('its record is incomplete')
        await this.cache.fetch(actor.org, project.id, record.files)
        const folder = this.cache.folderOf(actor.org, project.id)
        const facts = await this.parts.describe(`${folder}/${tape.name}`)
        await this.database.inOrg(actor, (rows) => insertRun(rows, actor.org, record, facts, tape))
        count += 1
      } catch (error) {
        problems.push(`${record.run}: ${reason(error)}`)
      }
    }
    this.log.info('index built', { org: actor.org, runs: count, problems: problems.length })
    return { runs: count, problems }
  }

  /** Stored runs in the order in which they were pushed, so parents come before branches. */
  async #storedRuns(actor: Actor, problems: string[]): Promise<RunRecord[]> {
    const records: RunRecord[] = []
    for (const name of await this.blobs.records(actor.org, 'runs'))
      try {
        records.push((await this.blobs.readRecord(actor.org, name)) as RunRecord)
      } catch (error) {
        problems.push(`${name}: ${reason(error)}`)
      }
    return records.toSorted((a, b) => a.pushedAt.localeCompare(b.pushedAt))
  }
}

export interface TeamCluster {
  /** Id of the project. */
  readonly project: string
  readonly cluster: string
  readonly count: number
  /** The error of the newest run. */
  readonly failure: string | null
  readonly run: string
  readonly last: string
}

const filtersOf = (rows: OrgRows, project: StoredProject): Promise<SavedFilter[]> =>
  rows
    .selectFrom('savedFilter')
    .select(['name', 'query', 'author'])
    .where('project', '=', project.id)
    .orderBy('name')
    .execute()

const runsOf = (rows: OrgRows, project: StoredProject | undefined) => {
  const all = rows.selectFrom('run')
  return project === undefined ? all : all.where('project', '=', project.id)
}

export interface DayActivity {
  readonly day: string
  readonly runs: number
  readonly failed: number
  readonly costUsd: number
  readonly p50Ms: number
  readonly p95Ms: number
}

/** Thrown by `describe` for a branch whose parent is not in the folder. */
export class MissingParent extends Error {
  constructor(readonly run: string) {
    super(`the tape continues run ${run}, which is missing`)
  }
}

const recordName = (project: StoredProject, run: string): string => `runs/${project.id}/${run}`

const COLUMNS = [
  'id',
  'name',
  'startedAt',
  'status',
  'steps',
  'events',
  'durationMs',
  'costUsd',
  'tokens',
  'models',
  'tools',
  'input',
  'failure',
  'lastLine',
  'cluster',
  'parent',
  'branchKind',
  'tags',
  'note',
  'pushedBy',
  'pushedAt',
  'digest',
  'bytes',
] as const

const PROJECT = ['id', 'slug', 'name', 'retentionDays', 'badgeToken'] as const

async function isFirstOfCluster(
  rows: OrgRows,
  project: StoredProject,
  { cluster }: RunFacts,
): Promise<boolean> {
  if (cluster === undefined) return false
  const other = await rows
    .selectFrom('run')
    .select('id')
    .where('project', '=', project.id)
    .where('cluster', '=', cluster)
    .limit(1)
    .executeTakeFirst()
  return other === undefined
}

async function insertRun(
  rows: OrgRows,
  org: string,
  record: RunRecord,
  facts: RunFacts,
  tape: StoredFile,
): Promise<void> {
  const { project, run, tags, note, pushedBy, pushedAt } = record
  const { card, events, tools, cluster = null } = facts
  const { models = [], branch, status, steps, durationMs } = card
  const text = [run, card.name, ...models, ...tools, ...tags, note, card.failure, card.input]
  const words = wordsOf([...text, facts.text].join(' ').slice(0, TEXT_MAX)).join(' ')
  // PostgreSQL cannot store null bytes in text.
  const clean = (value: string | undefined): string | null => value?.replaceAll('\0', ' ') ?? null
  await rows
    .insertInto('run')
    .values({
      org,
      project,
      id: run,
      digest: tape.digest,
      bytes: tape.bytes,
      name: clean(card.name) ?? '',
      startedAt: timeText(card.startedAt),
      status,
      steps,
      events,
      durationMs,
      costUsd: card.costUsd ?? null,
      tokens: card.tokens ?? null,
      models,
      tools,
      input: clean(card.input),
      failure: clean(card.failure),
      lastLine: clean(card.lastLine),
      cluster,
      parent: branch?.parent ?? null,
      branchKind: branch?.kind ?? null,
      tags,
      note,
      pushedBy,
      pushedAt,
      search: sql`to_tsvector('simple', ${words})`,
    })
    .onConflict((conflict) => conflict.columns(['org', 'project', 'id']).doNothing())
    .execute()
  await rows
    .insertInto('runFile')
    .values(record.files.map((file) => ({ org, project, run, ...file })))
    .onConflict((conflict) => conflict.columns(['org', 'project', 'run', 'name']).doNothing())
    .execute()
  if (record.comments.length > 0)
    await rows
      .insertInto('comment')
      .values(record.comments.map((each) => ({ org, project, run, ...each })))
      .onConflict((conflict) => conflict.columns(['org', 'id']).doNothing())
      .execute()
}

function checkRunId(run: string): void {
  if (!RUN_ID.test(run) || run.length > 150)
    throw serverErrors.REQUEST_INVALID('The run ID', 'Use only letters, digits, `.`, `-` and `_`.')
}

/** Checks the announced files. Returns the tape. */
function checkPush({ run, files }: PushRequest, settings: Settings): StoredFile {
  checkRunId(run)
  checkFiles(files, settings)
  const foreign = files.find(({ name }) => !name.startsWith(`${run}.`))
  if (foreign !== undefined)
    throw serverErrors.REQUEST_INVALID(
      'The list of files',
      `${foreign.name} does not belong to the run.`,
    )
  const tape = files.find(({ name }) => name === `${run}.tape`)
  if (tape === undefined) throw serverErrors.REQUEST_INVALID('The list of files', 'It has no tape.')
  return tape
}

function checkFiles(files: unknown, { maxFileBytes }: Settings): void {
  const invalid = (why: string) => serverErrors.REQUEST_INVALID('The list of files', why)
  if (!Array.isArray(files) || files.length === 0 || files.length > FILES_MAX)
    throw invalid(`It must have 1 to ${FILES_MAX} files.`)
  const names = new Set<string>()
  for (const file of files as unknown[]) {
    const { name, digest, bytes } = recordOf(file)
    if (typeof name !== 'string' || name.length > 250 || !isFileName(name))
      throw invalid(`"${String(name).slice(0, 80)}" is not a valid file name.`)
    if (names.has(name)) throw invalid(`${name} occurs twice.`)
    names.add(name)
    if (typeof digest !== 'string' || !isDigest(digest)) throw invalid(`${name} has no digest.`)
    if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0)
      throw invalid(`${name} has no size.`)
    if (bytes > maxFileBytes) throw serverErrors.TOO_LARGE(name, bytes, maxFileBytes)
  }
}

function checkTags(tags: readonly string[]): void {
  const invalid = tags.find((tag) => !TAG.test(tag))
  if (invalid !== undefined || tags.length > 50)
    throw serverErrors.REQUEST_INVALID(
      'The list of tags',
      'A tag has up to 64 letters, digits, `.`, `_`, `/` and `-`.',
    )
}

function parseCursor(text: string): { readonly startedAt: string; readonly id: string } {
  const [, time = '', id = ''] = /^(\d{1,15})_(.{1,200})$/s.exec(text) ?? []
  if (time === '')
    throw serverErrors.REQUEST_INVALID('The page', 'It is not a page token of this server.')
  return { startedAt: new Date(Number(time)).toISOString(), id }
}
