import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { latePart } from '../design/late-part.js'
import type { ForkButtonProps } from '../step/step-panel.js'
import { isEdited, openFork, useForkDraft, useOpenFork } from './fork-draft.js'
import { reasonOf, useAbilities } from './use-abilities.js'

/** The editor is large and rarely needed. */
const ForkDialog = latePart(async () => (await import('./fork-dialog.js')).ForkDialog)

export function LiveForkButton({ run, step }: ForkButtonProps) {
  const [isOpen, close] = useOpenFork(run.id, step.label)
  const draft = useForkDraft(run.id, step.label)
  const { fork } = useAbilities(run.id, run.head.status)
  const reason = step.inferred
    ? 'this call was not recorded; fork at the step that called it'
    : reasonOf(fork)
  const open = (): void => openFork(run.id, step.label)
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
      {isOpen && reason === undefined && <ForkDialog run={run} step={step} onClose={close} />}
    </>
  )
}
