import path from 'node:path'
import type { Tape } from '@retake/tape'
import { entryOf } from '@retake/runner/agent'
import { cliErrors } from '@retake/runner/errors'
import { requireTrust } from '@retake/runner/agent'
import { viewRun } from '@retake/runner/runs'
import { type Commit, GitRepository } from './git-repository.js'
import { type Trial, type TriedCommit, tryCommit } from './try-commit.js'

export interface BisectOptions extends Omit<Trial, 'repository' | 'tape'> {
  readonly good: string
  readonly bad: string
  readonly allowDirty: boolean
  /** Shows a trial and its result. `stepsLeft`: estimated number of steps after it. */
  readonly show: (
    commit: Commit,
    stepsLeft: number,
    run: () => Promise<TriedCommit>,
  ) => Promise<TriedCommit>
}

export type Bisected = Awaited<ReturnType<typeof bisectRun>>

/** Finds the first commit that differs from the tape. Does not touch the checkout. */
export async function bisectRun(tape: Tape, options: BisectOptions) {
  // Checked first, because commits that cannot be tried are skipped, which would be all of them.
  requireTrust(tape)
  const repository = await GitRepository.find(process.cwd())
  checkTape(tape, repository.top)
  const good = await repository.resolve(options.good)
  const bad = await repository.resolve(options.bad)
  if (good === bad) throw cliErrors.BISECT_SAME_COMMIT(short(good))
  if (!(await repository.isAncestor(good, bad)))
    throw cliErrors.NOT_AN_ANCESTOR(short(good), short(bad))
  const changed = options.allowDirty ? [] : await repository.changedFiles()
  if (changed.length > 0) throw cliErrors.DIRTY_TREE(changed)

  const all: TriedCommit[] = []
  const attempt = async (hash: string, stepsLeft: number): Promise<TriedCommit> => {
    const commit = await repository.describe(hash)
    const run = () => tryCommit(hash, { ...options, tape, repository })
    const tried = await options.show(commit, stepsLeft, run)
    all.push(tried)
    return tried
  }
  const steps = Math.ceil(Math.log2((await repository.candidates([good], bad)).length))
  checkEnd('good', await attempt(good, steps + 1))
  const worst = await attempt(bad, steps)
  checkEnd('bad', worst)
  const found = await findFirstBad(repository, good, worst, attempt)
  return {
    commit: await repository.describe(found.bad.commit),
    tried: found.bad,
    /** Untestable commits that may be the first bad one instead. */
    doubtful: await Promise.all(found.doubtful.map((hash) => repository.describe(hash))),
    all,
  }
}

function checkTape(tape: Tape, top: string): void {
  const { command, cwd, proxy } = tape.details
  const entry = entryOf(tape)
  if (proxy !== undefined) throw cliErrors.NOT_A_NODE_RUN(tape.run.id, command)
  if (cwd === undefined || entry === undefined) throw cliErrors.NOT_A_PROCESS_RUN(tape.run.id)
  if (tape.status === 'truncated' || viewRun(tape).exit?.signal !== undefined)
    throw cliErrors.BISECT_CUT_OFF(tape.run.id)
  if (!isInside(top, cwd)) throw cliErrors.OUTSIDE_REPOSITORY(`in the folder ${cwd}`, top)
  const agent = path.resolve(cwd, entry.file)
  if (!isInside(top, agent)) throw cliErrors.OUTSIDE_REPOSITORY(`the agent is ${agent}`, top)
}

function isInside(top: string, file: string): boolean {
  const inside = path.relative(top, file)
  return inside !== '..' && !inside.startsWith(`..${path.sep}`) && !path.isAbsolute(inside)
}

function checkEnd(which: 'good' | 'bad', { commit, verdict, reason }: TriedCommit): void {
  if (verdict === 'untestable') throw cliErrors.BISECT_UNTESTABLE(which, short(commit), reason)
  if (which === 'good' && verdict === 'different')
    throw cliErrors.BISECT_NOT_GOOD(short(commit), reason)
  if (which === 'bad' && verdict === 'same') throw cliErrors.BISECT_NOT_BAD(short(commit), reason)
}

const short = (hash: string): string => hash.slice(0, 10)

/**
 * Bisects the commits between a good and a bad one, like `git bisect`. Skips a commit that cannot
 * be tested for the next best one; the answer stays open only if nothing else is left.
 */
async function findFirstBad(
  repository: GitRepository,
  good: string,
  bad: TriedCommit,
  tryCommit: (commit: string, stepsLeft: number) => Promise<TriedCommit>,
): Promise<{ readonly bad: TriedCommit; readonly doubtful: readonly string[] }> {
  const goods = [good]
  const skipped = new Set<string>()
  let worst = bad
  for (;;) {
    const before = await repository.candidates(goods, worst.commit)
    const open = before.filter((commit) => commit !== worst.commit)
    const next = open.find((commit) => !skipped.has(commit))
    if (next === undefined) return { bad: worst, doubtful: open }
    const tried = await tryCommit(next, Math.ceil(Math.log2(open.length + 1)) - 1)
    if (tried.verdict === 'same') goods.push(next)
    else if (tried.verdict === 'different') worst = tried
    else skipped.add(next)
  }
}
