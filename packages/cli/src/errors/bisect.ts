import { RetakeError } from '@retake/engine/errors'
import { reason } from './reason.js'

export const gitMissing = (cause: unknown): RetakeError =>
  new RetakeError(
    'GIT_MISSING',
    'Git could not be started.',
    `Commits are checked out with it, and the system said: ${reason(cause)}.`,
    'Install git, or put it on the PATH.',
    { cause },
  )

export const gitFailed = (command: string, said: string): RetakeError =>
  new RetakeError(
    'GIT_FAILED',
    `\`git ${command}\` failed.`,
    `Git said: ${said === '' ? 'nothing' : said}`,
    'Repair what git complains about and start again; your checkout was not changed.',
  )

export const notARepository = (folder: string, said: string): RetakeError =>
  new RetakeError(
    'NOT_A_REPOSITORY',
    `${folder} is not in a git repository with a work tree.`,
    `Commits are what is searched, and git said: ${said === '' ? 'nothing' : said}`,
    'Go to the repository that holds the agent and start again.',
  )

export const unknownRevision = (revision: string, top: string): RetakeError =>
  new RetakeError(
    'UNKNOWN_REVISION',
    `There is no commit "${revision}".`,
    `The repository ${top} has no branch, tag or commit of that name.`,
    'See `git log --oneline`; in a shallow clone, run `git fetch --unshallow` first.',
  )

export const outsideRepository = (what: string, top: string): RetakeError =>
  new RetakeError(
    'OUTSIDE_REPOSITORY',
    `The run was recorded outside of this repository: ${what}.`,
    `The repository here is ${top}; other commits of it would not change that program.`,
    'Start again in the repository in which the run was recorded.',
  )

export const dirtyTree = (files: readonly string[]): RetakeError =>
  new RetakeError(
    'DIRTY_TREE',
    `The checkout has uncommitted changes in ${files.length === 1 ? 'one file' : `${files.length} files`}.`,
    `Only commits are tested, so these changes are not: ${files.slice(0, 5).join(', ')}${files.length > 5 ? ' and more' : ''}.`,
    'Commit them, or say with --allow-dirty that they do not matter.',
  )

export const notAnAncestor = (good: string, bad: string): RetakeError =>
  new RetakeError(
    'NOT_AN_ANCESTOR',
    `The good commit ${good} does not come before the bad commit ${bad}.`,
    'The first bad commit is searched between them, so one must lead to the other.',
    `Name an older commit as good, for example \`git merge-base ${good} ${bad}\`, or exchange the two.`,
  )

export const sameCommit = (commit: string): RetakeError =>
  new RetakeError(
    'BISECT_SAME_COMMIT',
    `Good and bad are the same commit, ${commit}.`,
    'There is nothing between them to search.',
    'Name with --good an older commit at which the run was still as recorded.',
  )

export const bisectNotGood = (commit: string, found: string): RetakeError =>
  new RetakeError(
    'BISECT_NOT_GOOD',
    `The good commit ${commit} is not good.`,
    `Replayed there: ${found}.`,
    'Name with --good the commit at which the run was recorded, or give an --oracle that it passes.',
  )

export const bisectNotBad = (commit: string, found: string): RetakeError =>
  new RetakeError(
    'BISECT_NOT_BAD',
    `The bad commit ${commit} is not bad.`,
    `Replayed there: ${found}.`,
    'Name with --bad a commit that shows the change, or give an --oracle that tells them apart.',
  )

export const bisectUntestable = (which: string, commit: string, found: string): RetakeError =>
  new RetakeError(
    'BISECT_UNTESTABLE',
    `The ${which} commit ${commit} cannot be tested.`,
    found,
    'Give the command that makes it ready with --run, or name another commit.',
  )

export const bisectCutOff = (id: string): RetakeError =>
  new RetakeError(
    'BISECT_CUT_OFF',
    `The tape of run ${id} was cut off.`,
    'The run was killed, so nothing is known about how it should go on and end.',
    'Record a run that comes to its end, and search with that.',
  )
