import type { CapturedState } from '@retake/tape'
import type { RunBlame } from '../model/run-blame.js'
import type { RunStatus } from '@retake/tape/present'
import type { RunCard, UnreadableRun } from '../model/run-head.js'
import type { RunModel } from '../model/run-model.js'
import type { SourceExcerpt } from '../model/run-parts.js'
import type { StateView } from '../model/state-view.js'
import type { BranchNodeView } from './branch-view.js'
import type { HomeChanges } from './home-changes.js'
import type { Job } from './job.js'
import type { RunComparison } from './run-comparison.js'

/**
 * Where the runs of a viewer live: the folder of a project, or a team's storage.
 * The API asks a home; what it throws with a `code` is shown to the user as it is.
 */
export interface Home {
  /** What the runs belong to, for the title of the page. */
  readonly name: string
  /** Newest first. */
  runs(): Promise<readonly (RunCard | UnreadableRun)[]>
  /** As it is now: a run that is being recorded is another one the next time. Throws when it is gone. */
  open(id: string): Promise<OpenRun>
  /** Tells of changes until the answer is called. */
  watch(tell: (change: HomeChange) => void): () => void
  branches(id: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
  /** Missing where nothing can be run. */
  readonly changes?: HomeChanges
  /** Ends everything that was started for it. */
  close?(): Promise<void>
}

export interface OpenRun {
  readonly model: RunModel
  /** What can be done with it here, and why not. */
  readonly abilities: Abilities
  /** Variables that were captured, in order; none when they were not, or cannot be read. */
  states(): readonly CapturedState[]
  /** One of them beside the one before it. Throws when they cannot be read. */
  state(label: string): StateView | undefined
  source(site: string): SourceExcerpt | undefined
  /** What a search for the causes of its failure came to, if there was one. Throws when it cannot be read. */
  blame?(): RunBlame | undefined
}

/** For each thing: true, or the reason why not. */
export interface Abilities {
  readonly fork: true | string
  readonly rerun: true | string
  readonly step: true | string
}

export type HomeChange =
  /** Runs have come or gone. */
  | { readonly type: 'runs' }
  | {
      readonly type: 'grew'
      readonly run: string
      readonly events: number
      readonly status: RunStatus
    }
  | { readonly type: 'gone'; readonly run: string }
  /** A search for the causes of its failure came to something. */
  | { readonly type: 'blame'; readonly run: string }
  | { readonly type: 'job'; readonly job: Job }
