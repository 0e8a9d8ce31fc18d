import path from 'node:path'
import zlib from 'node:zlib'
import { openTape } from '@retake/tape/node'
import { RunModel } from '@retake/web'
import type { Home, RunCard, UnreadableRun } from '@retake/web'
import { project } from '../config/project.js'
import type { RunStore } from '../run-store.js'
import { statusOf, summarizeRun } from '../run-summary.js'
import { viewRun } from '../view-run.js'

/** The runs of one project on this machine. */
export function localHome(store: RunStore): Home {
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
      const tape = openTape(store.pathOf(id))
      const model = new RunModel(tape, {
        status: statusOf(viewRun(tape), tape),
        prices: project().prices,
        gunzip: zlib.gunzipSync,
        inflate: zlib.inflateSync,
        brotli: zlib.brotliDecompressSync,
      })
      const abilities = { fork: 'not there yet', rerun: 'not there yet', step: 'not there yet' }
      return Promise.resolve({ model, abilities, state: () => undefined, source: () => undefined })
    },
    watch: () => () => {},
    branches: () => Promise.reject(new Error('not there yet')),
    compare: () => Promise.reject(new Error('not there yet')),
  }
}
