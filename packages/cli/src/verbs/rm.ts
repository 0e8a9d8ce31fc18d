import { type RetainedRun, refusedRuns, removeRuns, RunFamily } from '@retake/runner/removal'
import path from 'node:path'
import { plural } from '@retake/tape/present'
import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'

import { RunStore } from '@retake/runner/runs'
import { printJson } from '@retake/runner/terminal'

export default {
  arguments: '<run...>',
  description: `Removes runs and everything that belongs to them: captured state, tags, files of a
branch, approvals, forks of compare and findings of blame. A run with branches can only be removed
together with them, because a branch begins with the events of its parent. If any of the runs
cannot be removed, none is.`,
  options: {
    '--branches': 'also remove the branches of these runs',
    ...DIR_OPTION,
  },
  examples: ['retake rm last', 'retake rm 20261115-093012-kqzt --branches'],
  run(options, names) {
    const files = names.map((name) => path.resolve(options.store.find(name)))
    const folders = [...new Set(files.map((file) => path.dirname(file)))]
    const plans = folders.map((folder) => {
      const store = new RunStore(folder)
      const family = new RunFamily(store)
      const named = files.filter((file) => path.dirname(file) === folder)
      const ids = named.map((file) => path.basename(file, '.tape'))
      const all = options.flag('branches') ? ids.flatMap((id) => family.descendants(id)) : ids
      const [refused] = refusedRuns(family, all)
      if (refused !== undefined) throw refusal(refused, folder)
      return { store, family, ids: [...new Set(all)] }
    })
    const removed = plans.flatMap(({ store, family, ids }) => {
      const result = removeRuns(store, family, ids)
      const [kept] = result.kept
      if (kept !== undefined) throw refusal(kept, store.folder)
      return result.removed
    })
    if (options.json) printJson({ removed })
    else process.stderr.write(`removed ${plural(removed.length, 'run')}: ${removed.join(', ')}\n`)
    return 0
  },
} satisfies Verb

function refusal({ id, why, branches = [] }: RetainedRun, folder: string): Error {
  if (why === 'recording') return cliErrors.RUN_STILL_RECORDING(id)
  if (why === 'on hold') return cliErrors.RUN_RETAINED(id)
  if (why === 'pinned') return cliErrors.RUN_PINNED(id)
  if (why === 'gone') return cliErrors.UNKNOWN_RUN(id, folder)
  return cliErrors.RUN_HAS_BRANCHES(id, branches)
}
