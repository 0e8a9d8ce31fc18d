import path from 'node:path'
import type { CapturedState, Tape } from '@retake/tape'
import type { RunRepository } from '../api/run-repository.js'
import { attempt } from '@retake/tape/format'
import { readStates, stateFileOf } from '@retake/runner/debug'
import { AppliedFixes } from '@retake/lab/fix'
import { storedFix } from '@retake/lab/fix'
import { fixPathOf, type RunStore } from '@retake/runner/runs'
import { abilitiesOf, branchTrees, localChanges } from './changes/local-changes.js'
import { StoredBlame, StoredFindings } from './runs/stored-blame.js'
import { Comparisons } from './compare/comparisons.js'
import { RunCards, RunWatch } from './runs/run-watch.js'
import { FileCache, RunModels } from './runs/run-models.js'
import { sourceNear } from './runs/source-near.js'

export function localRuns(store: RunStore, editor?: string): RunRepository {
  const cards = new RunCards(store)
  const models = new RunModels(store)
  const states = new FileCache<readonly CapturedState[]>(1)
  const statesOf = (tape: Tape): readonly CapturedState[] =>
    states.get(tape.path, [stateFileOf(tape)], () => readStates(tape) ?? [])
  const blame = new StoredBlame()
  const applied = new AppliedFixes(store.folder)
  const fix = new StoredFindings(
    (tape) => [fixPathOf(tape.path, tape.run.id), applied.auditFile],
    (tape) => storedFix(tape, { applied, withSource: true }),
  )
  const behind = cards.behind.bind(cards)
  const changes = new RunWatch(store, models, { blame, fix }, behind)
  const actions = localChanges(store, (job) => changes.notify({ type: 'job', job }))
  const treeOf = branchTrees(store)
  const comparisons = new Comparisons(store)
  return {
    name: path.basename(process.cwd()),
    ...(editor !== undefined && { editor }),
    runs: async () => blame.mark(store.folder, await cards.list()),
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
        blame: () => blame.of(tape),
        fix: () => fix.of(tape),
      }
    },
    watch: (notify) => changes.watch(notify),
    branches: async (id) => treeOf(id),
    compare: (a, b) => comparisons.compare(a, b),
    actions,
    close: async () => {
      await Promise.all([actions.close(), comparisons.close()])
    },
  }
}
