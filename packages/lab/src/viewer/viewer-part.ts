import type { ViewerPart } from '@retake/runner/command-line'
import { project } from '@retake/runner/config'
import { cliErrors } from '@retake/runner/errors'
import { findingsPath, fixPathOf, storedBlame } from '@retake/runner/runs'
import { readTrialTable } from '../compare/live-trials.js'
import { AppliedFixes, dirtyFiles } from '../fix/apply-fix.js'
import { workingFixes } from '../fix/fix-card.js'
import { AgentProject } from '../fix/project-copy.js'
import { storedFix, storedOutcome } from '../fix/stored-fix.js'

/** What blame, fix and compare add to the viewer. */
export default {
  tabs: ['blame', 'fix', 'trials'],
  findings: (folder) => {
    const applied = new AppliedFixes(folder)
    return {
      blame: { filesOf: (tape) => [findingsPath(tape.path, tape.run.id)], read: storedBlame },
      fix: {
        filesOf: (tape) => [fixPathOf(tape.path, tape.run.id), applied.auditFile],
        read: (tape, { withSource }) => storedFix(tape, { applied, withSource }),
      },
    }
  },
  routes: (runs) => [
    {
      method: 'post',
      path: '/runs/:run/fixes/:fix/apply',
      answer: async ({ params: { run = '', fix: id = '' } }) => {
        const tape = runs.openFinished(run)
        if (project().fix.policy === 'observe') throw cliErrors.FIX_POLICY_OBSERVES()
        const found = storedOutcome(tape, (outcome) => ({
          outcome,
          fix: workingFixes(outcome.result).find(({ candidate }) => candidate.id === id),
        }))
        if (found?.fix === undefined) throw cliErrors.FIX_NOT_PROVEN(id, run)
        const { edits } = found.fix.candidate
        const dirty = await dirtyFiles(new AgentProject(tape).folder, edits)
        if (dirty.length > 0) throw cliErrors.FIX_DIRTY(dirty)
        const options = { by: 'user', force: false, writesTest: true } as const
        const { applyFix } = await import('../fix/regression-test.js')
        const applied = new AppliedFixes(runs.store.folder)
        return applyFix(tape, found.fix, found.outcome, applied, options)
      },
    },
    {
      method: 'post',
      path: '/runs/:run/fixes/:fix/undo',
      answer: ({ params: { fix: id = '' } }) => {
        new AppliedFixes(runs.store.folder).undo({ id, force: false })
        return {}
      },
    },
    {
      method: 'get',
      path: '/runs/:run/trials',
      answer: ({ params: { run = '' } }) => ({ table: readTrialTable(runs.open(run)) }),
    },
  ],
} satisfies ViewerPart
