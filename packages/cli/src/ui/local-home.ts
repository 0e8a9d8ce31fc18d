import path from 'node:path'
import zlib from 'node:zlib'
import { RunModel } from '@retake/web'
import type { Home, HomeChange, RunCard, UnreadableRun } from '@retake/web'
import { project } from '../config/project.js'
import type { RunStore } from '../run-store.js'
import { statusOf, summarizeRun } from '../run-summary.js'
import { viewRun } from '../view-run.js'
import { abilitiesOf } from './abilities.js'
import { branchesOf } from './branches.js'
import { compareRuns } from './compare.js'
import { localChanges } from './local-changes.js'
import { openStored } from './open-stored.js'

/** The runs of one project on this machine. */
export function localHome(store: RunStore): Home {
  const listeners = new Set<(change: HomeChange) => void>()
  const changes = localChanges(store, (job) => {
    for (const tell of listeners) tell({ type: 'job', job })
  })
  return {
    name: path.basename(process.cwd()),
    runs: () =>
      Promise.resolve(
        store.ids().map((id) => {
          const { path: _path, ...summary } = summarizeRun(id, store.pathOf(id))
          return summary as RunCard | UnreadableRun
        }),
      ),
    open: (id) => {
      const tape = openStored(store, id)
      const status = statusOf(viewRun(tape), tape)
      const model = new RunModel(tape, {
        status,
        prices: project().prices,
        gunzip: zlib.gunzipSync,
        inflate: zlib.inflateSync,
        brotli: zlib.brotliDecompressSync,
      })
      const abilities = abilitiesOf(tape, status)
      return Promise.resolve({ model, abilities, state: () => undefined, source: () => undefined })
    },
    watch: (tell) => {
      listeners.add(tell)
      return () => listeners.delete(tell)
    },
    branches: async (id) => branchesOf(store, id),
    compare: async (a, b) => compareRuns(store, a, b),
    changes,
    close: () => changes.close(),
  }
}
