import type { CapturedVariable } from '@retake/tape'
import { type KeyboardEvent, useId, useMemo, useState } from 'react'
import type { SessionPosition } from '../../api/run-repository.js'
import { changedVariables, type StateView } from '../../model/state-view.js'
import { Badge } from '../design/badge.js'
import { Button, IconButton } from '../design/button.js'
import { fieldLook } from '../design/fields.js'
import { CloseIcon } from '../design/icons.js'
import { ErrorNote, Spinner } from '../design/notes.js'
import type { LiveActions } from '../sources/backend.js'
import { describeTree } from '../step/json-tree.js'
import { JsonTree } from '../step/json-tree.js'
import type { LiveStateProps } from '../step/state-tab.js'
import { type DebugSession, debugSessionOf, debugText, type Evaluated } from './debug-session.js'
import { useStore } from '../store.js'
import { reasonOf, useAbilities } from './use-abilities.js'

interface FrameVariablesProps {
  readonly frame: StateView['frames'][number]
  readonly isOpen: boolean
  readonly changed: ReadonlySet<CapturedVariable>
}

const FrameVariables = ({ frame, isOpen, changed }: FrameVariablesProps) => (
  <details open={isOpen} className="rounded border border-line">
    <summary className="cursor-pointer px-2 py-1">
      {frame.name === '' ? '(outside functions)' : frame.name}{' '}
      <span className="font-mono text-sm wrap-anywhere text-muted">
        {frame.location.file}:{frame.location.line}
      </span>
    </summary>
    <ul className="divide-y divide-line border-t border-line">
      {frame.variables.map((variable) => (
        <li
          key={`${variable.scope} ${variable.name}`}
          className={`border-l-2 px-2 py-0.5 ${
            changed.has(variable) ? 'border-l-accent bg-accent-soft' : 'border-l-transparent'
          }`}
        >
          <Variable variable={variable} isChanged={changed.has(variable)} />
        </li>
      ))}
      {frame.variables.length === 0 && <li className="px-2 text-muted">No variables.</li>}
    </ul>
  </details>
)

function Variable({
  variable: { name, type, scope, text, json, cut },
  isChanged,
}: {
  readonly variable: CapturedVariable
  readonly isChanged: boolean
}) {
  const heading = (
    <>
      <span className="text-kind-model">{name}</span>
      <span className="mx-2 font-sans text-xs text-muted">
        {type}
        {scope !== 'local' && `, ${scope}`}
      </span>
      {isChanged && <Badge tone="accent">changed</Badge>}
    </>
  )
  return (
    <div className="font-mono text-sm wrap-anywhere">
      {heading} {!hasParts(json) && text}
      {hasParts(json) && <ValueTree label={name} json={json} text={text} isCut={cut} />}
    </div>
  )
}

/** An object with `$type` represents something that JSON cannot express. */
const hasParts = (json: unknown): boolean =>
  typeof json === 'object' && json !== null && !Object.hasOwn(json, '$type')

interface ValueTreeProps {
  readonly label: string
  readonly json: unknown
  /** For values that are not plain data. */
  readonly text: string
  readonly isCut: boolean
}

function ValueTree({ label, json, text, isCut }: ValueTreeProps) {
  const tree = useMemo(() => describeTree(json), [json])
  return (
    <>
      {hasParts(json) ? (
        <JsonTree label={label} value={tree} path={`state.${label}`} />
      ) : (
        <span className="font-mono text-sm wrap-anywhere whitespace-pre-wrap">{text}</span>
      )}
      {isCut && <p className="text-sm text-muted">Too large to show; evaluate a part of it.</p>}
    </>
  )
}

function EvaluatedValue({ evaluated }: { evaluated: Evaluated }) {
  const { expression, step, value, error } = evaluated
  return (
    <div>
      <p className="font-mono text-sm wrap-anywhere">
        <span className="text-kind-model">{expression}</span>{' '}
        <span className="text-muted">{step !== undefined && `at step ${step}`}</span>
      </p>
      {error !== undefined && <ErrorNote error={error} />}
      {value?.ok === false && (
        <p className="font-mono text-sm whitespace-pre-wrap text-danger">{value.text}</p>
      )}
      {value?.ok === true && (
        <ValueTree
          label={expression}
          json={value.json}
          text={value.text}
          isCut={value.cut ?? false}
        />
      )}
    </div>
  )
}

/** Long values are cut; the trees below are complete. */
const SHOWN = 200

function StateChanges({ state }: { state: StateView }) {
  const { comparedWith, changes } = state
  if (comparedWith === undefined) return null
  return (
    <section aria-label="Changes">
      <h3 className="mb-0.5 text-sm text-muted">
        {changes.length === 0 ? 'Nothing has changed' : 'Changed'} since step {comparedWith}
      </h3>
      <ul className="font-mono text-sm">
        {changes.map((change) => (
          <li key={change.path} className="border-b border-line py-0.5 wrap-anywhere">
            <span className="text-kind-model">{change.path}</span>{' '}
            {'before' in change && <del className="text-danger">{textOf(change.before)}</del>}
            {'before' in change && 'after' in change && <span aria-hidden="true"> → </span>}
            {'after' in change && (
              <ins className="text-good no-underline">{textOf(change.after)}</ins>
            )}
            {!('before' in change) && <span className="text-muted"> new</span>}
            {!('after' in change) && <span className="text-muted"> gone</span>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

interface ProgramStateProps extends LiveStateProps {
  readonly live: LiveActions
}

export function ProgramState({ run, step, note, live }: ProgramStateProps) {
  const store = debugSessionOf(run.id, live)
  const debug = useStore(store)
  const { step: ability } = useAbilities(run.id, run.head.status)
  const { phase, position, error } = debug
  if (phase === 'closed')
    return (
      <section aria-label="The program at this step" className="flex flex-col gap-2">
        <div className="flex flex-wrap items-center gap-2">
          <Button
            onClick={() => void store.move({ to: 'step', step })}
            disabled={ability !== true}
            title={reasonOf(ability)}
          >
            Pause the program here
          </Button>
          <span className="text-sm text-muted">
            {reasonOf(ability) ??
              'Replays the program to this step and pauses it there. Nothing is sent.'}
          </span>
        </div>
        {error !== undefined && <ErrorNote error={error} />}
        {note}
      </section>
    )
  return (
    <section aria-label="The program at this step" className="flex flex-col gap-3">
      <Moves store={store} isBusy={phase !== 'paused'} text={debugText(debug)} />
      {error !== undefined && <ErrorNote error={error} />}
      {debug.changedSources.length > 0 && (
        <p className="text-sm text-warning">
          Changed since the recording; the current lines are shown:{' '}
          {debug.changedSources.join(', ')}
        </p>
      )}
      {position?.kind === 'stop' && <StopLocation position={position} />}
      {phase !== 'opening' && (
        <>
          <EvaluateBox store={store} evaluated={debug.evaluated} />
          <WatchList store={store} watched={debug.watched} />
        </>
      )}
      {position?.kind === 'stop' && <Variables position={position} />}
      {position?.kind === 'end' && (
        <p>
          {position.step === undefined
            ? 'The program has ended.'
            : `No code of yours ran after the answer of step ${position.step}.`}
        </p>
      )}
      {position?.kind === 'start' && <p>The program has not had an answer yet.</p>}
    </section>
  )
}

function Moves({ store, isBusy, text }: { store: DebugSession; isBusy: boolean; text: string }) {
  const move = (to: 'next' | 'back' | 'next in lane' | 'back in lane') => () =>
    void store.move({ to })
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      <Button disabled={isBusy} onClick={move('back')} title="Shift+F10">
        Back
      </Button>
      <Button disabled={isBusy} onClick={move('next')} title="F10">
        Forward
      </Button>
      <Button disabled={isBusy} look="quiet" onClick={move('back in lane')} title="Shift+F11">
        Back in lane
      </Button>
      <Button disabled={isBusy} look="quiet" onClick={move('next in lane')} title="F11">
        Forward in lane
      </Button>
      <Button look="quiet" onClick={() => store.close()}>
        Stop debugging
      </Button>
      {isBusy ? <Spinner label={text} /> : <output className="text-sm text-muted">{text}</output>}
    </div>
  )
}

type StopPosition = Extract<SessionPosition, { kind: 'stop' }>

function StopLocation({ position: { state, stack } }: { position: StopPosition }) {
  return (
    <>
      {state.location !== undefined && (
        <div className="rounded border border-line">
          <p className="border-b border-line bg-raised px-2 py-0.5 font-mono text-sm wrap-anywhere">
            {state.location.file}:{state.location.line}
          </p>
          <pre className="px-2 py-1 font-mono text-sm wrap-anywhere whitespace-pre-wrap">
            {state.source ?? 'The line cannot be read.'}
          </pre>
        </div>
      )}
      {!state.isDirect && (
        <p className="text-sm text-muted">
          No line of your code ran for this answer alone; this line ran for a later one.
        </p>
      )}
      <CallStack stack={stack} />
    </>
  )
}

function Variables({ position }: { position: StopPosition }) {
  const { state } = position
  const changed = changedVariables(state)
  return (
    <>
      <StateChanges state={state} />
      {numbered(state.frames).map(({ item, index }) => (
        <FrameVariables
          key={`${index} ${item.name} ${position.step}`}
          frame={item}
          isOpen={index === 0}
          changed={changed}
        />
      ))}
    </>
  )
}

function CallStack({ stack }: { stack: StopPosition['stack'] }) {
  if (stack.length === 0) return null
  return (
    <details className="rounded border border-line">
      <summary className="cursor-pointer px-2 py-1">
        Call stack <span className="text-muted">{stack.length}</span>
      </summary>
      <ol className="border-t border-line px-2 py-1 font-mono text-sm">
        {stack.map((line) => (
          <li
            key={`${line.file}:${line.line}:${line.column} ${line.name}`}
            className={line.isUser ? '' : 'text-muted'}
          >
            {line.isAsync && <span className="text-muted">awaited by </span>}
            {line.name === '' ? '(outside functions)' : line.name}{' '}
            <span className="text-muted wrap-anywhere">
              {line.file}:{line.line}
            </span>
          </li>
        ))}
      </ol>
    </details>
  )
}

/** A recursive function is on the stack more than once: only the index distinguishes its frames. */
const numbered = <T,>(items: readonly T[]): { item: T; index: number }[] =>
  items.map((item, index) => ({ item, index }))

interface EvaluateBoxProps {
  readonly store: DebugSession
  readonly evaluated: readonly Evaluated[]
}

/** Arrow keys recall earlier expressions. */
function EvaluateBox({ store, evaluated }: EvaluateBoxProps) {
  const id = useId()
  const [text, setText] = useState('')
  const [back, setBack] = useState(0)
  const earlier = [...new Set(evaluated.map(({ expression }) => expression))]
  const request = (): void => {
    const expression = text.trim()
    if (expression === '') return
    setText('')
    setBack(0)
    void store.evaluate(expression)
  }
  const onKey = (event: KeyboardEvent): void => {
    // F10 does not type anything, so it steps from here too.
    if (event.key === 'F10') {
      event.preventDefault()
      void store.move({ to: event.shiftKey ? 'back' : 'next' })
    }
    const by = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    const next = Math.max(0, Math.min(earlier.length, back + by))
    setBack(next)
    setText(next === 0 ? '' : (earlier.at(-next) ?? ''))
  }
  return (
    <section aria-label="Evaluate">
      <form
        className="flex items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          request()
        }}
      >
        <div className="min-w-0 flex-1">
          <label htmlFor={id} className="text-sm text-muted">
            Evaluate an expression here
          </label>
          <input
            id={id}
            className={`${fieldLook} font-mono`}
            autoComplete="off"
            spellCheck={false}
            placeholder="messages.length"
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKey}
          />
        </div>
        <Button type="submit">Evaluate</Button>
        <Button
          look="quiet"
          disabled={text.trim() === ''}
          title="Evaluate it again after every move"
          onClick={() => {
            void store.watch(text.trim())
            setText('')
          }}
        >
          Watch
        </Button>
      </form>
      <ol
        className="mt-1 flex max-h-80 flex-col-reverse justify-end overflow-auto"
        aria-live="polite"
      >
        {evaluated.map((each) => (
          <li key={each.id} className="border-b border-line py-1">
            <EvaluatedValue evaluated={each} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function WatchList({ store, watched }: { store: DebugSession; watched: readonly Evaluated[] }) {
  if (watched.length === 0) return null
  return (
    <section aria-label="Watched">
      <h3 className="text-sm text-muted">Watched</h3>
      <ul>
        {watched.map((each) => (
          <li key={each.id} className="flex items-start gap-2 border-b border-line py-0.5">
            <div className="min-w-0 flex-1">
              <EvaluatedValue evaluated={each} />
            </div>
            <IconButton
              label={`Stop watching ${each.expression}`}
              icon={<CloseIcon />}
              onClick={() => store.unwatch(each.id)}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}
