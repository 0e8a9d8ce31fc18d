import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Editable } from '../../api/home.js'
import type { Explained } from '../../model/run-head.js'
import type { StepDetail } from '../../model/step-detail.js'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'
import { ChoiceGroup } from './choice-group.js'
import { explainedError } from './explained-error.js'
import { isEdited, readyFork, type ForkDraft } from './fork-draft.js'
import { forkDrafts, useForkDraft } from './fork-drafts.js'
import { ForkOptions } from './fork-options.js'
import { PayloadEditor } from './payload-editor.js'
import { Problem } from './problem.js'
import { branchOf } from './start-branch.js'

/** The server refused an answer that this provider never gives; it can be insisted on. */
const REFUSED = 'EDIT_INVALID_ANSWER'

export interface ForkDialogProps {
  readonly run: Run
  readonly step: StepDetail
  readonly onClose: () => void
}

/** Prepares and starts a fork at one step. What is written in it outlives it. */
export function ForkDialog({ run, step, onClose }: ForkDialogProps) {
  const home = useHome()
  const navigate = useNavigate()
  const draft = useForkDraft(run.id, step.label)
  const [error, setError] = useState<Explained>()
  const [isStarting, setIsStarting] = useState(false)
  const editable = useQuery({
    queryKey: ['editable', run.id, step.label],
    queryFn: async (): Promise<Editable> => (await home.live?.editable(run.id, step.label)) ?? {},
  })
  const change = (part: Partial<ForkDraft>): void => forkDrafts.change(run.id, step.label, part)
  const choice = possibleChoice(draft, editable.data)
  const ready = editable.data && readyFork(step.label, { ...draft, choice }, editable.data)

  const start = async (): Promise<void> => {
    if (!ready?.ok || home.live === undefined) return
    setError(undefined)
    setIsStarting(true)
    try {
      const branch = await branchOf(home, await home.live.fork(run.id, ready.request))
      if ('ended' in branch) {
        setError(branch.ended.error ?? { code: '', what: branch.ended.summary ?? NO_BRANCH })
        return
      }
      forkDrafts.drop(run.id, step.label)
      onClose()
      await navigate({
        to: '/runs/$run',
        params: { run: branch.run },
        search: { step: step.label },
      })
    } catch (thrown) {
      setError(explainedError(thrown))
    } finally {
      setIsStarting(false)
    }
  }

  const recorded = choice === 'answer' ? editable.data?.answer : editable.data?.request
  return (
    <Dialog
      title={`Fork at step ${step.label} · ${step.title}`}
      isOpen
      onClose={onClose}
      size="large"
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          void start()
        }}
      >
        {editable.error !== null && <Problem error={explainedError(editable.error)} />}
        {editable.data !== undefined && (
          <>
            <ChoiceGroup
              label="What is different this time"
              value={choice}
              onChange={(next) => {
                change({ choice: next })
                setError(undefined)
              }}
              choices={[
                {
                  value: 'answer',
                  title: 'Another answer',
                  text: 'The step gets what you write.',
                  disabled: editable.data.answer ? undefined : 'This step has no answer to edit.',
                },
                {
                  value: 'question',
                  title: 'Another question',
                  text: 'What you write is asked, live.',
                  disabled: editable.data.request
                    ? undefined
                    : 'What this step asked cannot be edited.',
                },
                { value: 'again', title: 'Ask again', text: 'The same question, answered live.' },
              ]}
            />
            {choice !== 'again' && recorded !== undefined && (
              <PayloadEditor
                key={choice}
                what={choice}
                recorded={recorded}
                draft={draft}
                onChange={change}
              />
            )}
            <ForkOptions
              draft={draft}
              onChange={change}
              hasStatus={choice === 'answer' && step.response !== undefined}
              canForce={error?.code === REFUSED || draft.force}
            />
            <CostNote run={run} step={step} tail={draft.tail} choice={choice} />
          </>
        )}
        {error !== undefined && <Problem error={error} />}
        <div className="flex flex-wrap items-center gap-2">
          <Button type="submit" look="primary" disabled={!ready?.ok || isStarting}>
            {isStarting ? 'Starting the branch…' : 'Fork'}
          </Button>
          {isEdited(draft) && (
            <Button look="quiet" onClick={() => forkDrafts.drop(run.id, step.label)}>
              Throw the draft away
            </Button>
          )}
          <Button look="quiet" onClick={onClose}>
            Close
          </Button>
          <span className="text-sm text-muted" role="status">
            {ready?.ok === false ? ready.why : ''}
          </span>
        </div>
      </form>
    </Dialog>
  )
}

const NO_BRANCH = 'The branch ended before anything was recorded.'

/** What was chosen, or the first thing that can be chosen at this step. */
function possibleChoice(
  { choice }: ForkDraft,
  editable: { answer?: unknown; request?: unknown } | undefined,
): ForkDraft['choice'] {
  if (editable === undefined) return choice
  if (choice === 'answer' && editable.answer === undefined)
    return editable.request === undefined ? 'again' : 'question'
  if (choice === 'question' && editable.request === undefined) return 'again'
  return choice
}

interface CostNoteProps {
  readonly run: Run
  readonly step: StepDetail
  readonly tail: ForkDraft['tail']
  readonly choice: ForkDraft['choice']
}

/** What the fork serves from the tape, and what it really asks. */
function CostNote({ run, step, tail, choice }: CostNoteProps) {
  const before = Math.max(0, run.rows.placeOf(step.label))
  const served = choice === 'answer' ? before + 1 : before
  const free = served === 1 ? '1 step is' : `${served} steps are`
  return (
    <p className="rounded border border-line bg-raised px-3 py-2 text-sm">
      {free} served from the tape and cost nothing.{' '}
      {tail === 'offline' ? (
        'What follows is served too where the request is identical; where it is not, the branch stops. Nothing is paid.'
      ) : (
        <>
          What follows is <strong className="font-medium">live</strong>: it runs the program with
          your real keys, is paid for, and tools do what they do.
        </>
      )}{' '}
      The recorded run does not change.
    </p>
  )
}
