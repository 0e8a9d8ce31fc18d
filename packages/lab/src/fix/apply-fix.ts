import {
  appendFileSync,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import type { FileEdit } from '../proof/candidates.js'
import type { JudgedFix } from '../proof/prove-fixes.js'
import { attempt } from '@retake/tape/format'
import { cliErrors } from '@retake/runner/errors'
import { GitRepository } from '../worktree/git-repository.js'
import { folderBesideRuns, isAlive } from '@retake/runner/runs'
import { insideOf } from './project-copy.js'

/** A fix being applied or undone, written to disk before the first file changes. */
interface Journal {
  readonly version: 1
  readonly pid: number
  readonly action: 'apply' | 'undo'
  readonly fix: AppliedFix
}

/** A fix in the audit and for `--undo`. */
export interface AppliedFix {
  readonly id: string
  readonly title: string
  readonly operator: string
  readonly layer: string
  readonly run: string
  /** Absolute path of the project. */
  readonly folder: string
  readonly edits: readonly FileEdit[]
}

export interface AuditLine {
  readonly at: string
  readonly action: 'apply' | 'undo' | 'recovered' | 'refused'
  readonly fix: string
  readonly title: string
  readonly run: string
  readonly files: readonly string[]
  readonly by: 'user' | 'policy'
  readonly why?: string
}

/** Limits of the circuit breaker: the same fix per day, and any fix per hour. */
const SAME_FIX_MAX = 2
const HOURLY_MAX = 5
const HOUR_MS = 3_600_000

/**
 * Applies fixes to the files of a project. Every change is written to a journal and synced before
 * the first rename, and each file is replaced by one rename. If the process is killed in between,
 * files are whole, and `recover` finishes or reverts the rest.
 */
export class AppliedFixes {
  readonly #folder: string
  readonly #journal: string

  /** `runs`: the tape folder of the project. */
  constructor(runs: string) {
    this.#folder = folderBesideRuns(runs, 'fix')
    this.#journal = path.join(this.#folder, 'journal.json')
  }

  /** Modified whenever a fix is applied or undone. */
  get auditFile(): string {
    return path.join(this.#folder, 'audit.jsonl')
  }

  /** Replaces the files of a fix. Throws before any change if one is not as expected. */
  apply(
    fix: AppliedFix,
    { by, force }: { readonly by: AuditLine['by']; readonly force: boolean },
  ): void {
    this.recover()
    this.#checkBreaker(fix, force)
    this.#change({ version: 1, pid: process.pid, action: 'apply', fix }, by, force)
  }

  /** Undoes a fix; without an id, the last applied one. */
  undo({ id, force }: { readonly id?: string; readonly force: boolean }): AppliedFix {
    this.recover()
    const fix = this.applied().findLast((each) => id === undefined || each.id === id)
    if (fix === undefined) throw cliErrors.FIX_NOTHING_TO_UNDO()
    this.#change({ version: 1, pid: process.pid, action: 'undo', fix }, 'user', force)
    return fix
  }

  /** Fixes currently applied, oldest first. */
  applied(): AppliedFix[] {
    const undone = new Set<string>()
    const found: AppliedFix[] = []
    for (const { action, fix } of this.audit().toReversed()) {
      if (action === 'undo') undone.add(fix)
      if (action !== 'apply' && action !== 'recovered') continue
      if (undone.delete(fix)) continue
      const record = attempt(
        () => JSON.parse(readFileSync(this.#recordOf(fix), 'utf8')) as AppliedFix,
      )
      if (record !== undefined && !found.some(({ id }) => id === fix)) found.unshift(record)
    }
    return found
  }

  /** Oldest first. */
  audit(): AuditLine[] {
    const text = attempt(() => readFileSync(this.auditFile, 'utf8'), '')
    return text.split('\n').flatMap((line) => attempt(() => [JSON.parse(line) as AuditLine], []))
  }

  /**
   * Finishes or reverts an interrupted change; undefined if there was none. Files that match
   * neither the state before nor after the change stay unchanged and are named in an error.
   */
  recover(): 'finished' | 'reverted' | undefined {
    if (!existsSync(this.#journal)) return undefined
    let journal: Journal
    try {
      journal = JSON.parse(readFileSync(this.#journal, 'utf8')) as Journal
    } catch (error) {
      throw cliErrors.FIX_JOURNAL_UNREADABLE(this.#journal, error)
    }
    if (journal.pid !== process.pid && isAlive(journal.pid))
      throw cliErrors.FIX_WORKING_TREE_LOCKED(journal.pid)
    const { fix, action } = journal
    const states = changesOf(journal).map((change) => ({ ...change, state: stateOf(change) }))
    const strange = states.find(({ state }) => state === 'other')
    if (strange !== undefined) throw cliErrors.FIX_FILE_CHANGED(strange.relative, 'interrupted')
    for (const { file } of states) rmSync(draftOf(file), { force: true })
    const isStarted = states.some(({ state }) => state === 'after')
    if (isStarted) {
      for (const change of states)
        if (change.state === 'before') replaceFile(change.file, change.after)
      this.#remember(journal)
      this.#note(
        action === 'apply' ? 'recovered' : 'undo',
        fix,
        'user',
        'finished after an interruption',
      )
    }
    rmSync(this.#journal, { force: true })
    return isStarted ? 'finished' : 'reverted'
  }

  #change(journal: Journal, by: AuditLine['by'], force: boolean): void {
    const changes = changesOf(journal)
    const strange = changes.find((change) => stateOf(change) !== 'before')
    if (strange !== undefined && !force)
      throw cliErrors.FIX_FILE_CHANGED(
        strange.relative,
        journal.action === 'apply' ? 'proven' : 'applied',
      )
    mkdirSync(this.#folder, { recursive: true })
    writeSynced(this.#journal, JSON.stringify(journal), 0o600)
    for (const { file, after } of changes) replaceFile(file, after)
    this.#remember(journal)
    this.#note(journal.action, journal.fix, by)
    rmSync(this.#journal)
  }

  /** Stores the texts before and after each applied fix, for `--undo`. */
  #remember({ action, fix }: Journal): void {
    if (action === 'apply') writeSynced(this.#recordOf(fix.id), JSON.stringify(fix), 0o600)
    else rmSync(this.#recordOf(fix.id), { force: true })
  }

  #note(action: AuditLine['action'], fix: AppliedFix, by: AuditLine['by'], why?: string): void {
    const line: AuditLine = {
      at: new Date().toISOString(),
      action,
      fix: fix.id,
      title: fix.title,
      run: fix.run,
      files: fix.edits.map((edit) => edit.path),
      by,
      ...(why !== undefined && { why }),
    }
    mkdirSync(this.#folder, { recursive: true })
    appendFileSync(this.auditFile, `${JSON.stringify(line)}\n`, { flush: true })
  }

  #checkBreaker(fix: AppliedFix, force: boolean): void {
    const applies = this.audit().filter(({ action }) => action === 'apply')
    const since = (ms: number): AuditLine[] =>
      applies.filter(({ at }) => Date.now() - Date.parse(at) < ms)
    const same = since(24 * HOUR_MS).filter((line) => line.fix === fix.id).length
    const recent = since(HOUR_MS).length
    if (force || (same < SAME_FIX_MAX && recent < HOURLY_MAX)) return
    const why =
      same >= SAME_FIX_MAX
        ? `This fix was applied ${same} times in the last 24 hours.`
        : `${recent} fixes were applied in the last hour.`
    this.#note('refused', fix, 'policy', why)
    throw cliErrors.FIX_CIRCUIT_OPEN(why)
  }

  #recordOf(id: string): string {
    return path.join(this.#folder, 'applied', `${id}.json`)
  }
}

interface Change {
  readonly relative: string
  readonly file: string
  /** Undefined if the file does not exist. */
  readonly before: string | undefined
  readonly after: string | undefined
}

const changesOf = ({ action, fix: { folder, edits } }: Journal): Change[] =>
  edits.map(({ path: relative, before, after }) => ({
    relative,
    file: insideOf(folder, relative),
    ...(action === 'apply' ? { before, after } : { before: after, after: before }),
  }))

function stateOf({ file, before, after }: Change): 'before' | 'after' | 'other' {
  const now = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  return now === before ? 'before' : now === after ? 'after' : 'other'
}

/** Replaces a file atomically and preserves its mode. Deletes it if `text` is undefined. */
function replaceFile(file: string, text: string | undefined): void {
  if (text === undefined) return rmSync(file, { force: true })
  mkdirSync(path.dirname(file), { recursive: true })
  writeSynced(file, text, statSync(file, { throwIfNoEntry: false })?.mode)
}

/** Independent of the process, so that the next one finds it. */
const draftOf = (file: string): string =>
  path.join(path.dirname(file), `.${path.basename(file)}.retake`)

function writeSynced(file: string, text: string, mode?: number): void {
  mkdirSync(path.dirname(file), { recursive: true })
  const draft = draftOf(file)
  rmSync(draft, { force: true })
  const fd = openSync(draft, 'wx')
  try {
    if (mode !== undefined) fchmodSync(fd, mode)
    writeFileSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, file)
  // Windows cannot open a folder.
  const folder = attempt(() => openSync(path.dirname(file), 'r'))
  if (folder === undefined) return
  attempt(() => fsyncSync(folder))
  closeSync(folder)
}

/** 59 identical runs: with 95 % confidence, at most 5 % of runs break. */
const AUTO_CORPUS = 59

/** True for safe fixes of a rule that leave all requests of many passing runs identical. */
export function mayAutoApply({ candidate, evidence, verdict }: JudgedFix): boolean {
  const { identical, same, breaks } = evidence.corpus
  const isSafe = candidate.layer === 'transport' || candidate.layer === 'policy'
  const isProven =
    verdict.status === 'repairs' && verdict.claim === 'proven' && candidate.author === 'rule'
  return isSafe && isProven && identical >= AUTO_CORPUS && same + breaks === 0
}

/** Files of a fix with uncommitted changes; empty without git. */
export async function dirtyFiles(folder: string, edits: readonly FileEdit[]): Promise<string[]> {
  const repository = await GitRepository.find(folder).catch(() => undefined)
  if (repository === undefined) return []
  const changed = new Set(await repository.changedFiles())
  const inside = path.relative(repository.top, folder)
  return edits
    .map((edit) => edit.path)
    .filter((file) => changed.has(path.join(inside, file).replaceAll('\\', '/')))
}
