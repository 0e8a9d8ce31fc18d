import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useMemo, useRef, type RefObject } from 'react'
import type { Editable } from '../../api/home-changes.js'
import type { StepDetail } from '../../model/step-detail.js'
import { useCommands } from '../commands/use-commands.js'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { ErrorNote } from '../design/error-note.js'
import { Spinner } from '../design/spinner.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'
import { answeredBefore } from './answered-before.js'
import { ChoiceGroup } from './choice-group.js'
import { CostNote } from './cost-note.js'
import { choicesOf, possibleChoice } from './fork-choices.js'
import { isEdited, readyFork, type ForkDraft } from './fork-draft.js'
import { forkDrafts, useForkDraft } from './fork-drafts.js'
import { ForkOptions } from './fork-options.js'
import { ForkRefusal } from './fork-refusal.js'
import { PayloadEditor } from './payload-editor.js'
import { useStartFork } from './use-start-fork.js'

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
  const { start, isStarting, error, forget } = useStartFork({ run, step, onClose })
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
            <ForkRefusal error={error} draft={draft} onChange={change} />
            <ForkOptions
              draft={draft}
              onChange={change}
              recordedStatus={choice === 'answer' ? editable.data.answer?.status : undefined}
            />
            <CostNote
              served={answeredBefore(run.rows, step, choice)}
              givesAnswer={choice === 'answer'}
              tail={draft.tail}
            />
          </>
        )}
      </form>
    </Dialog>
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
