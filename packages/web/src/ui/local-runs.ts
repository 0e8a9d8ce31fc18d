import path from 'node:path'
import type { CapturedState, Tape } from '@retake/tape'
import type { RunRepository } from '../api/run-repository.js'
import { attempt } from '@retake/tape/format'
import { readStates, stateFileOf } from '@retake/runner/debug'
import type { ViewerPart } from '@retake/runner/command-line'
import type { RunStore } from '@retake/runner/runs'
import { abilitiesOf, branchTrees, localChanges } from './changes/local-changes.js'
import { FailedChecks, StoredFindings } from './runs/stored-blame.js'
import { Comparisons } from './compare/comparisons.js'
import { RunCards, RunWatch } from './runs/run-watch.js'
import { FileCache, openFinished, openStored, RunModels } from './runs/run-models.js'
import { sourceNear } from './runs/source-near.js'

interface LocalRunsOptions {
  /** URL template that opens a file in an editor. */
  readonly editor?: string | undefined
  /** What installed capabilities add. */
  readonly parts?: readonly ViewerPart[]
}

export function localRuns(
  store: RunStore,
  { editor, parts = [] }: LocalRunsOptions = {},
): RunRepository {
  const cards = new RunCards(store)
  const models = new RunModels(store)
  const states = new FileCache<readonly CapturedState[]>(1)
  const statesOf = (tape: Tape): readonly CapturedState[] =>
    states.get(tape.path, [stateFileOf(tape)], () => readStates(tape) ?? [])
  const failedChecks = new FailedChecks()
  const found = new Map(
    parts
      .flatMap(({ findings }) => Object.entries(findings?.(store.folder) ?? {}))
      .map(([tab, { filesOf, read }]) => [
        tab,
        new StoredFindings(filesOf, (tape) => read(tape, { withSource: true })),
      ]),
  )
  const behind = cards.behind.bind(cards)
  const changes = new RunWatch(store, models, found, behind)
  const actions = localChanges(store, (job) => changes.notify({ type: 'job', job }))
  const treeOf = branchTrees(store)
  const comparisons = new Comparisons(store)
  const viewed = {
    store,
    open: (run: string) => openStored(store, run),
    openFinished: (run: string) => openFinished(store, run),
  }
  return {
    name: path.basename(process.cwd()),
    ...(editor !== undefined && { editor }),
    runs: async () => failedChecks.mark(store.folder, await cards.list()),
    open: async (id) => {
      const { model } = models.open(id)
      const { tape, status } = model
      return {
        model,
        abilities: abilitiesOf(tape, status),
        // Only requests for a single state get the error.
        states: () => attempt(() => statesOf(tape), []),
        state: (label) => model.state(label, statesOf(tape)),
        source: (site) => sourceNear(tape, site),
        findings: (tab) => found.get(tab)?.of(tape),
      }
    },
    watch: (notify) => changes.watch(notify),
    branches: async (id) => treeOf(id),
    compare: (a, b) => comparisons.compare(a, b),
    actions,
    tabs: parts.flatMap(({ tabs }) => tabs),
    routes: parts.flatMap(({ routes }) => routes?.(viewed) ?? []),
    close: async () => {
      await Promise.all([actions.close(), comparisons.close()])
    },
  }
}
