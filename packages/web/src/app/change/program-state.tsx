import type { SessionPosition } from '../../api/session-view.js'
import { Button } from '../design/button.js'
import { ErrorNote } from '../design/error-note.js'
import { Spinner } from '../design/spinner.js'
import { changedVariables } from '../step/state/changed-variables.js'
import type { LiveActions } from '../sources/live-actions.js'
import { EvaluateBox } from './evaluate-box.js'
import { FrameVariables } from './frame-variables.js'
import type { LiveStateProps } from './live-state.js'
import { StateChanges } from './state-changes.js'
import { standingOf, useStanding, type StandingStore } from './standing.js'
import { standingText } from './standing-text.js'
import { reasonOf, useAbilities } from './use-abilities.js'
import { WatchList } from './watch-list.js'

export interface ProgramStateProps extends LiveStateProps {
  readonly live: LiveActions
}

/** The program of a run, held at a step: where it is, what it has in its hands, and what one asks it. */
export function ProgramState({ run, step, live }: ProgramStateProps) {
  const store = standingOf(run.id, live)
  const standing = useStanding(store)
  const { step: ability } = useAbilities(run.id, run.head.status)
  const { phase, position, error } = standing
  if (phase === 'closed')
    return (
      <section aria-label="The program at this step" className="flex flex-col gap-2">
        <div className="flex flex-wrap items-center gap-2">
          <Button
            onClick={() => void store.move({ to: 'step', step })}
            disabled={ability !== true}
            title={reasonOf(ability)}
          >
            Stand here
          </Button>
          <span className="text-sm text-muted">
            {reasonOf(ability) ??
              'Replays the program to this step and holds it there. Nothing is asked outside.'}
          </span>
        </div>
        {error !== undefined && <ErrorNote error={error} />}
      </section>
    )
  return (
    <section aria-label="The program at this step" className="flex flex-col gap-3">
      <Moves store={store} isBusy={phase !== 'standing'} text={standingText(standing)} />
      {error !== undefined && <ErrorNote error={error} />}
      {standing.changedSources.length > 0 && (
        <p className="text-sm text-warning">
          Saved after the recording, so lines are those of now: {standing.changedSources.join(', ')}
        </p>
      )}
      {position?.kind === 'stop' && <Place position={position} />}
      {phase !== 'opening' && (
        <>
          <EvaluateBox store={store} evaluated={standing.evaluated} />
          <WatchList store={store} watched={standing.watched} />
        </>
      )}
      {position?.kind === 'stop' && <Variables position={position} />}
      {position?.kind === 'end' && (
        <p>
          {position.step === undefined
            ? 'The program is over.'
            : `No code of yours ran after the answer of step ${position.step}.`}
        </p>
      )}
      {position?.kind === 'start' && <p>The program has not had an answer yet.</p>}
    </section>
  )
}

interface MovesProps {
  readonly store: StandingStore
  readonly isBusy: boolean
  readonly text: string
}

function Moves({ store, isBusy, text }: MovesProps) {
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
        Let go
      </Button>
      {isBusy ? <Spinner label={text} /> : <output className="text-sm text-muted">{text}</output>}
    </div>
  )
}

type StopPosition = Extract<SessionPosition, { kind: 'stop' }>

/** The line it stands at, and who called it. */
function Place({ position: { state, stack } }: { readonly position: StopPosition }) {
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
          No line ran for this answer alone; this one ran for a later one.
        </p>
      )}
      <CallStack stack={stack} />
    </>
  )
}

/** What has changed, and every variable. */
function Variables({ position }: { readonly position: StopPosition }) {
  const { state } = position
  const changed = changedVariables(state)
  return (
    <>
      <StateChanges state={state} />
      {numbered(state.frames).map(({ item, place }) => (
        <FrameVariables
          key={`${place} ${item.name} ${position.step}`}
          frame={item}
          isOpen={place === 0}
          changed={changed}
        />
      ))}
    </>
  )
}

function CallStack({ stack }: { readonly stack: StopPosition['stack'] }) {
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

/** A function that calls itself stands in a stack more than once: only the place tells them apart. */
const numbered = <T,>(items: readonly T[]): { item: T; place: number }[] =>
  items.map((item, place) => ({ item, place }))
