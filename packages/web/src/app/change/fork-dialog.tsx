import { plural, valueTexts } from '@retake/tape/present'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type RefObject, useEffect, useId, useMemo, useRef, useState } from 'react'
import type { Editable, ForkRequest } from '../../api/run-repository.js'
import type { StepDetail } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { Checkbox, fieldLook, Select, TextField } from '../design/fields.js'
import { ErrorNote, Spinner, Terms } from '../design/notes.js'
import type { RowStore } from '../run/data/row-store.js'
import type { Run } from '../run/data/use-run.js'
import { BackendError, explainError } from '../sources/backend-error.js'
import { useBackend } from '../sources/backend.js'
import { CodeEditor } from './code-editor.js'
import {
  type DraftField,
  draftFields,
  type ForkDraft,
  forkDrafts,
  isEdited,
  readJson,
  readLeaf,
  readyFork,
  useForkDraft,
  withValueAt,
} from './fork-draft.js'
import { branchOf } from './jobs.js'

const NO_BRANCH = 'The branch ended before it recorded anything new.'

/** Starts the fork and opens its branch. If it is refused, the draft remains. */
function useStartFork({ run, step, onClose }: ForkDialogProps) {
  const backend = useBackend()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async (request: ForkRequest) => {
      if (backend.live === undefined) return
      const job = await branchOf(backend, await backend.live.fork(run.id, request))
      if (!job.written)
        throw new BackendError(job.error ?? { code: 'UNEXPECTED', what: job.summary ?? NO_BRANCH })
      forkDrafts.drop(run.id, step.label)
      onClose()
      await navigate({ to: '/runs/$run', params: { run: job.run }, search: { step: step.label } })
    },
  })
}

/** Code of the refusal of an invalid answer, which the user can override. */
const REFUSED = 'EDIT_INVALID_ANSWER'

interface ForkDialogProps {
  readonly run: Run
  readonly step: StepDetail
  readonly onClose: () => void
}

/** Prepares and starts a fork at one step. The draft outlives the dialog. */
export function ForkDialog({ run, step, onClose }: ForkDialogProps) {
  const backend = useBackend()
  const formId = useId()
  const draft = useForkDraft(run.id, step.label)
  const editable = useQuery({
    queryKey: ['editable', run.id, step.label],
    queryFn: async (): Promise<Editable> =>
      (await backend.live?.editable(run.id, step.label)) ?? {},
  })
  const choice = possibleChoice(draft, editable.data)
  const ready = editable.data && readyFork(step.label, { ...draft, choice }, editable.data)
  const { mutate: start, isPending: isStarting, ...started } = useStartFork({ run, step, onClose })
  const error = started.error === null ? undefined : explainError(started.error)
  const change = (part: Partial<ForkDraft>): void => forkDrafts.change(run.id, step.label, part)
  const recorded = choice === 'answer' ? editable.data?.answer : editable.data?.request
  const form = useRef<HTMLFormElement>(null)
  const firstField = useFirstField(form, editable.isSuccess)
  useCommands((add) => {
    const disabled = ready?.ok === false ? ready.why : undefined
    const options = { keys: ['Mod+Enter'], inDialogs: true, disabled }
    add('Change', 'fork-start', 'Start the fork', options, () => form.current?.requestSubmit())
  })
  // Offered only after the answer was refused.
  const force = (
    <Checkbox
      label="Use this answer anyway, to see how the agent handles it"
      isChecked={draft.force}
      onChange={(isChecked) => change({ force: isChecked })}
    />
  )
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
              Discard the draft
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
          if (ready?.ok && !isStarting) start(ready.request)
        }}
      >
        {editable.isPending && <Spinner label="Reading the step…" />}
        {editable.error !== null && <ErrorNote error={editable.error} />}
        {editable.data !== undefined && (
          <>
            <ChoiceGroup
              value={choice}
              editable={editable.data}
              onChange={(next) => {
                change({ choice: next })
                started.reset()
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
            {error === undefined && draft.force && force}
            {error !== undefined && (
              <ErrorNote error={error} actions={error.code === REFUSED ? force : undefined} />
            )}
            <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
              <Select
                label="After this step"
                value={draft.tail}
                options={[
                  { value: 'live', title: 'run live (costs)' },
                  { value: 'offline', title: 'from the tape, offline' },
                ]}
                onChange={(tail) => change({ tail })}
              />
              <TextField
                label="Name of the branch"
                value={draft.name}
                placeholder="same as the parent"
                onChange={(name) => change({ name })}
              />
              {choice === 'answer' && editable.data.answer?.status !== undefined && (
                <TextField
                  className="w-28"
                  label="HTTP status"
                  inputMode="numeric"
                  value={draft.status}
                  placeholder={String(editable.data.answer.status)}
                  onChange={(status) => change({ status: status.trim() })}
                />
              )}
            </div>
            <ForkCost
              served={answeredBefore(run.rows, step, choice)}
              choice={choice}
              tail={draft.tail}
            />
          </>
        )}
      </form>
    </Dialog>
  )
}

/** Focuses the first field once it exists, unless the user has moved the focus. */
function useFirstField(form: RefObject<HTMLFormElement | null>, isThere: boolean) {
  const field = useMemo(
    () => ({
      get current(): HTMLElement | null {
        return (
          form.current?.querySelector<HTMLElement>('textarea, input[list], [contenteditable]') ??
          form.current
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

/** Number of other steps answered before the branch leaves the tape. */
function answeredBefore(rows: RowStore, step: StepDetail, choice: ForkDraft['choice']): number {
  const until = step.at + (choice === 'answer' ? (step.latencyMs ?? 0) : 0)
  const own = rows.indexOf(step.label)
  const { at, latencyMs, inferred, length } = rows.columns
  let count = 0
  for (let index = 0; index < length; index++) {
    if (index === own || inferred[index]) continue
    // Comparisons with an unknown latency (NaN) are false.
    if ((at[index] ?? 0) + (latencyMs[index] ?? Number.NaN) <= until) count += 1
  }
  return count
}

interface ChoiceGroupProps {
  readonly value: ForkDraft['choice']
  readonly editable: Editable
  readonly onChange: (value: ForkDraft['choice']) => void
}

function ChoiceGroup({ value, editable, onChange }: ChoiceGroupProps) {
  const name = useId()
  const choices = [
    {
      value: 'answer',
      title: 'Change the answer',
      text: 'The step returns what you enter.',
      disabled: editable.answer ? undefined : (editable.whyNoAnswer ?? 'There is no answer.'),
    },
    {
      value: 'request',
      title: 'Change the request',
      text: 'Your request is sent live.',
      disabled: editable.request ? undefined : (editable.whyNoRequest ?? 'It cannot be edited.'),
    },
    {
      value: 'again',
      title: 'Retry live',
      text: 'The same request, answered live.',
      disabled: undefined,
    },
  ] as const
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm text-muted">Change</legend>
      <div className="grid gap-2 sm:grid-cols-[repeat(auto-fit,minmax(0,1fr))]">
        {choices.map((choice) => (
          <label
            key={choice.value}
            className="flex cursor-pointer items-start gap-2 rounded border border-line px-2.5 py-1.5 has-checked:border-accent has-checked:bg-accent-soft has-disabled:cursor-default has-disabled:text-muted has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              aria-label={choice.title}
              className="mt-0.5 accent-accent outline-none"
              name={name}
              checked={choice.value === value}
              disabled={choice.disabled !== undefined}
              onChange={() => onChange(choice.value)}
            />
            <span className="min-w-0">
              <span className="block">{choice.title}</span>
              <span className="block text-sm text-muted">{choice.disabled ?? choice.text}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

interface ForkCostProps {
  readonly served: number
  readonly choice: ForkDraft['choice']
  readonly tail: ForkDraft['tail']
}

function ForkCost({ served, choice, tail }: ForkCostProps) {
  return (
    <div className="text-sm">
      <Terms
        rows={{
          Before: served > 0 && `${plural(served, 'step')}, served from the tape, free.`,
          'This step':
            choice === 'answer' ? 'Gets the answer above, free.' : 'Sent live, with your keys.',
          After:
            tail === 'offline'
              ? 'Identical requests are served from the tape; the branch stops at the first request that differs.'
              : 'Live, with your keys: model calls cost money, tools have real effects.',
          Files: 'Written beside the branch. The recorded run does not change.',
        }}
      />
    </div>
  )
}

function possibleChoice(
  { choice }: ForkDraft,
  editable: Editable | undefined,
): ForkDraft['choice'] {
  if (editable === undefined) return choice
  if (choice === 'answer' && editable.answer === undefined)
    return editable.request === undefined ? 'again' : 'request'
  if (choice === 'request' && editable.request === undefined) return 'again'
  return choice
}

interface PayloadEditorProps {
  readonly what: 'answer' | 'request'
  readonly recorded: NonNullable<Editable['answer']>
  readonly draft: ForkDraft
  readonly onChange: (change: Partial<ForkDraft>) => void
}

/** Edits the answer or the request: important texts first, the whole JSON behind a button. */
function PayloadEditor({ what, recorded, draft, onChange }: PayloadEditorProps) {
  const text = draft[what] ?? recorded.text
  const parsed = recorded.form === 'json' ? readJson(text) : undefined
  const original = recorded.form === 'json' ? readJson(recorded.text) : undefined
  const fields = what === 'answer' && parsed?.ok ? draftFields(parsed.value) : []
  const write = (next: string): void =>
    onChange({ [what]: next === recorded.text ? undefined : next })
  const problem = parsed?.ok === false ? parsed.problem : undefined
  const showsFields = fields.length > 0 && !draft.asJson
  const recordedFields = original?.ok ? draftFields(original.value) : []
  return (
    <div className="flex min-h-0 flex-col gap-2">
      {showsFields ? (
        <div className="flex flex-col gap-2">
          {fields.map((field) => (
            <DraftFieldEditor
              key={field.at.join('.')}
              field={field}
              recorded={recordedFields.find(({ at }) => at.join() === field.at.join())?.value}
              onChange={(next) =>
                parsed?.ok &&
                write(sameLayout(recorded.text, withValueAt(parsed.value, field.at, next)))
              }
            />
          ))}
        </div>
      ) : (
        <CodeEditor
          label={what === 'answer' ? 'The answer' : 'The request'}
          form={recorded.form}
          value={text}
          onChange={write}
          original={draft.showsChanges ? recorded.text : undefined}
          problemAt={problem?.line}
        />
      )}
      {problem !== undefined && (
        <p role="alert" className="text-danger">
          Line {problem.line}, column {problem.column}: {problem.message}.
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {(fields.length > 0 || draft.asJson) && recorded.form === 'json' && (
          <Button
            aria-pressed={draft.asJson}
            disabled={draft.asJson && fields.length === 0}
            onClick={() => onChange({ asJson: !draft.asJson })}
          >
            {draft.asJson ? 'Edit as a form' : 'Edit as JSON'}
          </Button>
        )}
        {!showsFields && (
          <Button
            aria-pressed={draft.showsChanges}
            onClick={() => onChange({ showsChanges: !draft.showsChanges })}
          >
            {draft.showsChanges ? 'Hide changes' : 'Show changes'}
          </Button>
        )}
        {draft[what] !== undefined && (
          <Button look="quiet" onClick={() => onChange({ [what]: undefined })}>
            Restore the recording
          </Button>
        )}
      </div>
    </div>
  )
}

function sameLayout(recorded: string, value: unknown): string {
  const indent = /^[[{]\n( +)/.exec(recorded)?.[1]?.length
  return JSON.stringify(value, undefined, indent) + (recorded.endsWith('\n') ? '\n' : '')
}

interface DraftFieldEditorProps {
  readonly field: DraftField
  /** Undefined if the tape has no such value. */
  readonly recorded: DraftField['value'] | undefined
  readonly onChange: (value: DraftField['value']) => void
}

/**
 * Edits a string as it is and other values as JSON, so that their type remains. A string that could be
 * taken for another type is marked as text.
 */
function DraftFieldEditor({ field, recorded, onChange }: DraftFieldEditorProps) {
  const id = useId()
  const { label, value } = field
  const isChanged = value !== recorded
  const isText = typeof (recorded ?? value) === 'string' && recorded !== null
  return (
    <div>
      <div className="mb-0.5 flex gap-2 text-sm text-muted">
        <label htmlFor={id}>{label}</label>
        {isText && readJson(String(value)).ok && <span id={`${id}-type`}>text</span>}
      </div>
      {isText ? (
        <textarea
          id={id}
          aria-describedby={`${id}-type`}
          rows={1}
          className="field-sizing-content block max-h-80 w-full resize-y rounded border border-line-field bg-surface px-2 py-1 font-mono text-sm max-sm:text-[1rem]"
          value={String(value)}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <LeafField id={id} value={value} onChange={onChange} />
      )}
      {isChanged && recorded !== undefined && (
        <div className="mt-1 flex items-start gap-2 text-sm">
          <span className="shrink-0 text-muted">recorded</span>
          <del className="line-clamp-3 min-w-0 flex-1 font-mono break-words text-danger">
            {valueTexts([recorded, value])[0]}
          </del>
          <button
            type="button"
            className="shrink-0 text-accent underline"
            onClick={() => onChange(recorded)}
          >
            restore
          </button>
        </div>
      )}
    </div>
  )
}

interface LeafFieldProps {
  readonly id: string
  readonly value: DraftField['value']
  readonly onChange: (value: DraftField['value']) => void
}

/** Retains the text as typed while its value is the same: `1.0` may become `1.05`. */
function LeafField({ id, value, onChange }: LeafFieldProps) {
  const [typed, setTyped] = useState(String(value))
  const text = readLeaf(typed) === value ? typed : String(value)
  return (
    <div className="flex items-center gap-2">
      <input
        id={id}
        className={`${fieldLook} max-w-60 font-mono text-sm`}
        autoComplete="off"
        spellCheck={false}
        list={`${id}-values`}
        value={text}
        aria-describedby={`${id}-type`}
        onChange={(event) => {
          setTyped(event.target.value)
          onChange(readLeaf(event.target.value))
        }}
      />
      <datalist id={`${id}-values`}>
        {(typeof value === 'boolean' ? ['true', 'false', 'null'] : []).map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </datalist>
      <span id={`${id}-type`} className="text-sm text-muted">
        {value === null ? 'null' : typeof value === 'string' ? 'text' : typeof value}
      </span>
    </div>
  )
}
