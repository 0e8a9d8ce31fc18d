import { useState } from 'react'
import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { latePart } from '../design/late-part.js'
import type { ForkButtonProps } from '../step/step-panel.js'
import { isEdited, useForkDraft } from './fork-draft.js'
import { reasonOf, useAbilities } from './use-abilities.js'

/** The editor is large and rarely needed. */
const ForkDialog = latePart(async () => (await import('./fork-dialog.js')).ForkDialog)

export function LiveForkButton({ run, step }: ForkButtonProps) {
  const [openAt, setOpenAt] = useState<string>()
  const draft = useForkDraft(run.id, step.label)
  const { fork } = useAbilities(run.id, run.head.status)
  const reason = step.inferred
    ? 'this step was not recorded itself; fork at the step that called it'
    : reasonOf(fork)
  const open = (): void => setOpenAt(step.label)
  useCommands((add) => {
    add(
      'Change',
      'fork',
      `Fork at step ${step.label}: change the answer or the request, or retry live`,
      { keys: ['f'], disabled: reason },
      open,
    )
  })
  return (
    <>
      <Button
        onClick={open}
        disabled={reason !== undefined}
        title={reason ?? 'Change the answer or the request, or retry live (f)'}
      >
        {isEdited(draft) ? 'Fork · draft' : 'Fork'}
      </Button>
      {openAt === step.label && (
        <ForkDialog run={run} step={step} onClose={() => setOpenAt(undefined)} />
      )}
    </>
  )
}
