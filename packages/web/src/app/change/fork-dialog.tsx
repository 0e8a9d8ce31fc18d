import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useMemo, useRef, useState, type RefObject } from 'react'
import type { Editable } from '../../api/home.js'
import type { StepDetail } from '../../model/step-detail.js'
import { useCommands } from '../commands/use-commands.js'
import { Button } from '../design/button.js'
import { Checkbox } from '../design/checkbox.js'
import { Dialog } from '../design/dialog.js'
import { ErrorNote } from '../design/error-note.js'
import { explainError } from '../design/explain-error.js'
import { Spinner } from '../design/spinner.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'
import { ChoiceGroup } from './choice-group.js'
import { CostNote } from './cost-note.js'
import { isEdited, readyFork, type ForkDraft } from './fork-draft.js'
import { forkDrafts, useForkDraft } from './fork-drafts.js'
import { ForkOptions } from './fork-options.js'
import { PayloadEditor } from './payload-editor.js'
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
  const formId = useId()
  const draft = useForkDraft(run.id, step.label)
  const editable = useQuery({
    queryKey: ['editable', run.id, step.label],
    queryFn: async (): Promise<Editable> => (await home.live?.editable(run.id, step.label)) ?? {},
  })
  const choice = possibleChoice(draft, editable.data)
  const ready = editable.data && readyFork(step.label, { ...draft, choice }, editable.data)
  const { start, isStarting, error, forget } = useStart({ run, step, onClose })
  const change = (part: Partial<ForkDraft>): void => forkDrafts.change(run.id, step.label, part)
  const recorded = choice === 'answer' ? editable.data?.answer : editable.data?.request
  const form = useRef<HTMLFormElement>(null)
  const firstField = useFirstField(form, editable.isSuccess)
  useCommands([
    {
      id: 'fork-start',
      title: 'Start the fork',
      group: 'Change',
      keys: ['Mod+Enter'],
      inDialogs: true,
      disabled: ready?.ok === false ? ready.why : undefined,
      run: () => form.current?.requestSubmit(),
    },
  ])
  return (
    <Dialog
      title={`Fork at step ${step.label}`}
      description={<span className="block truncate font-mono text-sm">{step.title}</span>}
      isOpen
      onClose={onClose}
      size="large"
      initialFocus={firstField}
      footer={
        <>
          <output className="mr-auto self-center text-sm text-muted">
            {ready?.ok === false ? ready.why : ''}
          </output>
          {isEdited(draft) && (
            <Button look="quiet" onClick={() => forkDrafts.drop(run.id, step.label)}>
              Throw the draft away
            </Button>
          )}
          <Button type="submit" form={formId} look="primary" disabled={!ready?.ok || isStarting}>
            {isStarting ? 'Starting…' : 'Fork'}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        ref={form}
        tabIndex={-1}
        className="flex flex-col gap-4 outline-none"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready?.ok && !isStarting) void start(ready.request)
        }}
      >
        {editable.isPending && <Spinner label="Reading the step…" />}
        {editable.error !== null && <ErrorNote error={editable.error} />}
        {editable.data !== undefined && (
          <>
            <ChoiceGroup
              label="What is different this time"
              value={choice}
              choices={choicesOf(editable.data)}
              onChange={(next) => {
                change({ choice: next })
                forget()
              }}
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
            <Refusal error={error} draft={draft} onChange={change} />
            <ForkOptions
              draft={draft}
              onChange={change}
              recordedStatus={choice === 'answer' ? editable.data.answer?.status : undefined}
            />
            <CostNote
              served={answeredBefore(run, step, choice)}
              givesAnswer={choice === 'answer'}
              tail={draft.tail}
            />
          </>
        )}
      </form>
    </Dialog>
  )
}

interface RefusalProps {
  readonly error: ReturnType<typeof explainError> | undefined
  readonly draft: ForkDraft
  readonly onChange: (change: Partial<ForkDraft>) => void
}

/** What the server said. Only an answer that it refused can be insisted on, and only then. */
function Refusal({ error, draft, onChange }: RefusalProps) {
  const force = (
    <Checkbox
      label="Give it this answer anyway, to see how the agent takes it"
      isChecked={draft.force}
      onChange={(isChecked) => onChange({ force: isChecked })}
    />
  )
  if (error === undefined) return draft.force ? force : null
  return error.code === REFUSED ? (
    <ErrorNote error={{ ...error, fix: 'Correct the edit.' }} actions={force} />
  ) : (
    <ErrorNote error={error} />
  )
}

/** What is written in first. It has the focus as soon as there is one, unless somebody went elsewhere meanwhile. */
function useFirstField(form: RefObject<HTMLFormElement | null>, isThere: boolean) {
  const field = useMemo(
    () => ({
      get current(): HTMLElement | null {
        return (
          form.current?.querySelector<HTMLElement>('textarea, [contenteditable]') ?? form.current
        )
      },
    }),
    [form],
  )
  useEffect(() => {
    if (isThere && document.activeElement === form.current) field.current?.focus()
  }, [isThere, form, field])
  return field
}

/** How many other steps had their answer before the branch leaves the tape. */
function answeredBefore(run: Run, step: StepDetail, choice: ForkDraft['choice']): number {
  const until = step.at + (choice === 'answer' ? (step.latencyMs ?? 0) : 0)
  let count = 0
  for (let place = 0; place < run.rows.length; place++) {
    const { label, at, latencyMs, inferred } = run.rows.at(place)
    if (label === step.label || inferred || latencyMs === undefined) continue
    if (at + latencyMs <= until) count += 1
  }
  return count
}

/** Starts the fork and goes to its branch. When it is refused the draft stays as it is. */
function useStart({ run, step, onClose }: ForkDialogProps) {
  const home = useHome()
  const navigate = useNavigate()
  const [error, setError] = useState<ReturnType<typeof explainError>>()
  const [isStarting, setIsStarting] = useState(false)
  const start = async (request: Parameters<NonNullable<typeof home.live>['fork']>[1]) => {
    if (home.live === undefined) return
    setError(undefined)
    setIsStarting(true)
    try {
      const job = await branchOf(home, await home.live.fork(run.id, request))
      if (!job.written) {
        setError(job.error ?? { code: 'UNEXPECTED', what: job.summary ?? NO_BRANCH })
        return
      }
      forkDrafts.drop(run.id, step.label)
      onClose()
      await navigate({ to: '/runs/$run', params: { run: job.run }, search: { step: step.label } })
    } catch (thrown) {
      setError(explainError(thrown))
    } finally {
      setIsStarting(false)
    }
  }
  return { start, isStarting, error, forget: () => setError(undefined) }
}

const NO_BRANCH = 'The branch ended before anything of its own was recorded.'

function choicesOf(editable: Editable) {
  return [
    {
      value: 'answer' as const,
      title: 'Another answer',
      text: 'The step gets what you write.',
      disabled: editable.answer ? undefined : (editable.whyNoAnswer ?? 'There is no answer.'),
    },
    {
      value: 'question' as const,
      title: 'Another question',
      text: 'What you write is asked, live.',
      disabled: editable.request ? undefined : (editable.whyNoRequest ?? 'It cannot be edited.'),
    },
    {
      value: 'again' as const,
      title: 'Ask again',
      text: 'The same question, answered live.',
    },
  ]
}

/** What was chosen, or the first thing that can be chosen at this step. */
function possibleChoice(
  { choice }: ForkDraft,
  editable: Editable | undefined,
): ForkDraft['choice'] {
  if (editable === undefined) return choice
  if (choice === 'answer' && editable.answer === undefined)
    return editable.request === undefined ? 'again' : 'question'
  if (choice === 'question' && editable.request === undefined) return 'again'
  return choice
}
