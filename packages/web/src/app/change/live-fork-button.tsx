import { useState } from 'react'
import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { latePart } from '../design/late-part.js'
import type { ForkButtonProps } from '../step/step-panel.js'
import { isEdited } from './fork-draft.js'
import { useForkDraft } from './fork-draft.js'
import { reasonOf, useAbilities } from './use-abilities.js'

/** The editor is large, and only wanted once it is opened. */
const ForkDialog = latePart(async () => (await import('./fork-dialog.js')).ForkDialog)

/** The button of a home that can run programs; it says when a draft waits behind it. */
export function LiveForkButton({ run, step }: ForkButtonProps) {
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
        <ForkDialog run={run} step={step} onClose={() => setOpenAt(undefined)} />
      )}
    </>
  )
}
