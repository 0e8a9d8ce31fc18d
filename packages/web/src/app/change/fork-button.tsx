import { lazy, Suspense, useState } from 'react'
import type { StepDetail } from '../../model/step-detail.js'
import { useCommands } from '../commands/use-commands.js'
import { Button } from '../design/button.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'
import { isEdited } from './fork-draft.js'
import { useForkDraft } from './fork-drafts.js'
import { reasonOf, useAbilities } from './use-abilities.js'

export interface ForkButtonProps {
  readonly run: Run
  readonly step: StepDetail
}

/** Opens the editor for another answer or question at this step. Nothing where nothing can be run. */
export function ForkButton(props: ForkButtonProps) {
  const { live } = useHome()
  return live === undefined ? null : <LiveForkButton {...props} />
}

/** A report has no use for it, and does not carry it. */
const ForkDialog =
  __HOME__ === 'live'
    ? lazy(async () => ({ default: (await import('./fork-dialog.js')).ForkDialog }))
    : () => null

function LiveForkButton({ run, step }: ForkButtonProps) {
  const [openAt, setOpenAt] = useState<string>()
  const draft = useForkDraft(run.id, step.label)
  const { fork } = useAbilities(run.id, run.head.status)
  const reason = step.inferred
    ? 'this step was not recorded itself; fork at the step that asked for it'
    : reasonOf(fork)
  const open = (): void => setOpenAt(step.label)
  useCommands([
    {
      id: 'fork',
      title: `Fork at step ${step.label}: another answer, another question, or ask again`,
      group: 'Change',
      keys: ['f'],
      disabled: reason,
      run: open,
    },
  ])
  return (
    <>
      <Button
        onClick={open}
        disabled={reason !== undefined}
        title={reason ?? 'Another answer, another question, or ask again (f)'}
      >
        {isEdited(draft) ? 'Fork · draft' : 'Fork'}
      </Button>
      {openAt === step.label && (
        <Suspense>
          <ForkDialog run={run} step={step} onClose={() => setOpenAt(undefined)} />
        </Suspense>
      )}
    </>
  )
}
