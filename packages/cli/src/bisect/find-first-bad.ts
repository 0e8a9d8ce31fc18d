import type { GitRepository } from './git-repository.js'
import type { Tried } from './try-commit.js'

export interface Search {
  readonly repository: Pick<GitRepository, 'candidates'>
  readonly good: string
  readonly bad: Tried
  /** Tries a commit; is told how many steps are probably left after it. */
  readonly tryCommit: (commit: string, stepsLeft: number) => Promise<Tried>
}

export interface FirstBad {
  /** The oldest commit known to be different. */
  readonly bad: Tried
  /** Commits before it that cannot be tested and may be the first as well; empty when `bad` is it. */
  readonly doubtful: readonly string[]
}

/**
 * Halves the commits between a good and a bad one, like `git bisect`. A commit
 * that cannot be tested is passed over for the next best; only when nothing else
 * is left does the answer stay open between it and the first bad one.
 */
export async function findFirstBad({
  repository,
  good,
  bad,
  tryCommit,
}: Search): Promise<FirstBad> {
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
