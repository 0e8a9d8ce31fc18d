import { changedCodeText } from '@retake/tape/present'
import { type KeyboardEvent, useId, useMemo, useState } from 'react'
import type { SessionPosition } from '../../api/run-repository.js'
import { Button, IconButton } from '../design/button.js'
import { fieldLook } from '../design/fields.js'
import { CloseIcon } from '../design/icons.js'
import { ErrorNote, Spinner } from '../design/notes.js'
import type { LiveActions } from '../sources/backend.js'
import { describeTree, JsonTree } from '../values/json-tree.js'
import { type LiveStateProps, StateDetail } from './state-detail.js'
import {
  type DebugSession,
  debugSessionOf,
  debugText,
  type Evaluated,
} from '../change/debug-session.js'
import { useStore } from '../design/store.js'
import { reasonOf, useAbilities } from '../change/use-abilities.js'

function EvaluatedValue({ evaluated }: { evaluated: Evaluated }) {
  const { expression, step, value, error } = evaluated
  const { json } = value ?? {}
  // An object with `$type` represents something that JSON cannot express.
  const hasParts = typeof json === 'object' && json !== null && !Object.hasOwn(json, '$type')
  const tree = useMemo(() => describeTree(value?.json), [value])
  return (
    <div>
      <p className="font-mono text-sm wrap-anywhere">
        <span className="text-kind-model">{expression}</span>{' '}
        <span className="text-muted">{step !== undefined && `at step ${step}`}</span>
      </p>
      {error !== undefined && <ErrorNote error={error} />}
      {value?.ok && hasParts ? (
        <JsonTree label={expression} value={tree} path={`state.${expression}`} />
      ) : (
        <p
          className={`font-mono text-sm wrap-anywhere whitespace-pre-wrap ${value?.ok ? '' : 'text-danger'}`}
        >
          {value?.text}
        </p>
      )}
      {value?.cut === true && (
        <p className="text-sm text-muted">Too large to show; evaluate a part of it.</p>
      )}
    </div>
  )
}

const NAMES_MAX = 5

const listed = (files: readonly string[]): string =>
  files.length <= NAMES_MAX
    ? files.join(', ')
    : `${files.slice(0, NAMES_MAX).join(', ')} and ${files.length - NAMES_MAX} more`

interface ProgramStateProps extends LiveStateProps {
  readonly live: LiveActions
}

export function ProgramState({ run, step, captured, live }: ProgramStateProps) {
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
        {captured}
      </section>
    )
  return (
    <section aria-label="The program at this step" className="flex flex-col gap-3">
      <Moves store={store} isBusy={phase !== 'paused'} text={debugText(debug)} />
      {error !== undefined && <ErrorNote error={error} />}
      {debug.changedSources.length > 0 && (
        <p className="text-sm wrap-anywhere text-warning">
          {debug.code === 'recorded'
            ? changedCodeText(debug.changedSources.length)
            : 'Changed since the recording; the current lines are shown'}
          : {listed(debug.changedSources)}
        </p>
      )}
      {position?.kind === 'stop' && <StopLocation position={position} />}
      {phase !== 'opening' && (
        <>
          <EvaluateBox store={store} evaluated={debug.evaluated} />
          <WatchList store={store} watched={debug.watched} />
        </>
      )}
      {position?.kind === 'stop' && <StateDetail state={position.state} />}
      {position?.kind === 'end' && (
        <p>
          {position.step === undefined
            ? 'The program has ended.'
            : `None of your code ran after the answer to step ${position.step}.`}
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

const StopLocation = ({ position: { state, stack } }: { position: StopPosition }) => (
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
    {stack.length > 0 && (
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
              {line.name === '' ? '(top level)' : line.name}{' '}
              <span className="text-muted wrap-anywhere">
                {line.file}:{line.line}
              </span>
            </li>
          ))}
        </ol>
      </details>
    )}
  </>
)

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
    // F10 types nothing, so it also steps while this field is focused.
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
