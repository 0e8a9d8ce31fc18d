import { count } from '@retake/tape/present'
import { type ReactNode, useEffect, useRef, useState } from 'react'

import { useBlame } from '../blame/use-blame.js'
import { useCommands } from '../commands/commands.js'
import { Button } from '../design/button.js'
import { classes } from '../design/classes.js'
import { useRemembered } from '../design/remembered.js'
import { CapabilityCommands, useCapabilityTabs } from '../findings/tabs.js'
import { Splitter } from '../design/splitter.js'
import { StepPanel } from '../step/step-panel.js'
import {
  EventFilter,
  EventList,
  EventPanel,
  useEventCommands,
  useEventSelection,
  useListedEvents,
} from './event-list.js'
import { FilterBar } from './filter-bar.js'
import {
  type FilteredRows,
  isEmpty,
  initialStep,
  moveBy,
  moveInLane,
  moveToFailed,
} from './data/row-filter.js'
import { StepList } from './step-list.js'
import { Transcript } from './transcript.js'
import { TimelinePanel } from './timeline/timeline.js'
import { type Run, useRows } from './data/use-run.js'
import { useStore } from '../design/store.js'
import {
  followedRun,
  useFilter,
  useList,
  useNarrow,
  useSelection,
  useShownRows,
} from './data/use-selection.js'

function useRunCommands(
  run: Run,
  shown: FilteredRows,
  { onOpen, isOff }: { readonly onOpen: () => void; readonly isOff: boolean },
) {
  const { rows } = run
  const { step, select } = useSelection()
  const index = step === undefined ? -1 : rows.indexOf(step)

  const go = (to: number): void => {
    if (to >= 0 && to !== index) select(rows.at(to).label, { replace: true })
  }
  const move = (by: number | 'first' | 'last'): void => {
    if (by === 'first') go(shown.length === 0 ? -1 : shown.rowAt(0))
    else if (by === 'last') go(shown.length === 0 ? -1 : shown.rowAt(shown.length - 1))
    else go(index < 0 && by > 0 ? startOf(shown) : moveBy(shown, index, by))
  }
  const goInLane = (direction: 1 | -1): void =>
    go(index < 0 ? -1 : moveInLane(shown, index, direction))
  const goToFailed = (direction: 1 | -1): void => go(moveToFailed(shown, index, direction))
  const parent = index < 0 ? undefined : rows.at(index).parent

  useCommands((add) => {
    if (isOff) return
    add('Move', 'step.next', 'Next step', ['j'], () => move(1))
    add('Move', 'step.previous', 'Previous step', ['k'], () => move(-1))
    add('Move', 'step.parent', 'Step that called this one', ['h'], () =>
      go(parent === undefined ? -1 : rows.indexOf(parent)),
    )
    add('Move', 'step.child', 'First step that this one called', ['l'], () =>
      go(step === undefined ? -1 : rows.firstChildOf(step)),
    )
    add('Move', 'step.lane-previous', 'Previous step in the lane', ['['], () => goInLane(-1))
    add('Move', 'step.lane-next', 'Next step in the lane', [']'], () => goInLane(1))
    add('Move', 'step.first', 'First step', ['g'], () => move('first'))
    add('Move', 'step.last', 'Last step', ['G'], () => move('last'))
    add('Move', 'step.next-error', 'Next failed step', ['.'], () => goToFailed(1))
    add('Move', 'step.previous-error', 'Previous failed step', [','], () => goToFailed(-1))
    add('Move', 'step.open', 'Focus the step', ['o'], onOpen)
  })
  return move
}

/** Without a selection, the first key press goes to the initial selection. */
function startOf(shown: FilteredRows): number {
  const first = initialStep(shown.rows)
  return first !== undefined && shown.has(first) ? first : moveBy(shown, -1, 1)
}

const LISTS = [
  { value: 'steps', name: 'Steps', title: 'List steps (e)', back: 'All steps' },
  { value: 'transcript', name: 'Transcript', title: 'Read the whole run as a conversation (v)' },
  { value: 'events', name: 'Events', title: 'List events (e)', back: 'All events' },
] as const

export function RunWorkspace({ run, facts }: { run: Run; facts: ReactNode }) {
  const { head, rows } = run
  const filtering = useFilter()
  const shown = useShownRows(rows, filtering.filter)
  const isNarrow = useNarrow()
  const { step, leave } = useSelection()
  const events = useEventSelection()
  const { list: shownList, show } = useList()
  const panel = useRef<HTMLElement>(null)
  const [stored, setWidth] = useRemembered('list-width', 0)
  const width = stored > 0 ? stored : Math.min(960, Math.round(innerWidth * 0.48))
  const open = (): void => panel.current?.focus()
  const move = useRunCommands(run, shown, { onOpen: open, isOff: events.isOn })
  const listed = useListedEvents(run, events.isOn ? events.find : undefined)
  const position = step === undefined ? -1 : rows.indexOf(step)
  const at = position < 0 ? undefined : rows.at(position).seq
  const moveEvent = useEventCommands(events, { listed, at, onOpen: open })
  const capabilityTabs = useCapabilityTabs()
  const capability = capabilityTabs.find(({ value }) => value === shownList)
  const commands = capabilityTabs.map((tab) => (
    <CapabilityCommands key={tab.value} tab={tab} run={run} />
  ))
  useCommands((add) => {
    const isOn = shownList === 'transcript'
    add('Look', 'list.transcript', isOn ? 'List steps' : 'Transcript of the run', ['v'], () =>
      show(isOn ? 'steps' : 'transcript'),
    )
  })
  useInitialStep(run, isNarrow || events.isOn)
  const { isFollowing, follow } = useFollow(run, isNarrow || events.isOn)

  const list = events.isOn ? (
    <EventList run={run} listed={listed} onMove={moveEvent} onOpen={open} />
  ) : capability !== undefined ? (
    <capability.Panel run={run} />
  ) : shownList === 'transcript' ? (
    <Transcript run={run} shown={shown} />
  ) : (
    <StepList run={run} shown={shown} onMove={move} onOpen={open} />
  )
  const chosen = (
    <section
      ref={panel}
      tabIndex={-1}
      aria-label={events.isOn ? 'Event' : 'Step'}
      className="flex min-h-0 min-w-0 flex-1"
    >
      {events.isOn ? <EventPanel run={run} event={events.event} /> : <StepPanel run={run} />}
    </section>
  )
  if (isNarrow && (events.isOn ? events.event : step) !== undefined) {
    const list = capability ?? LISTS.find(({ value }) => value === shownList) ?? LISTS[0]
    const back = 'back' in list ? list.back : list.name
    return (
      <div className="flex min-h-0 flex-1 flex-col">
        {commands}
        <div className="border-b border-line p-1">
          <Button look="quiet" onClick={events.isOn ? () => events.select(undefined) : leave}>
            <span aria-hidden="true">←</span> {back}
          </Button>
        </div>
        {chosen}
      </div>
    )
  }
  return (
    <>
      {commands}
      <TimelinePanel
        run={run}
        shown={shown}
        filtering={filtering}
        isNarrow={isNarrow}
        facts={facts}
        onMove={move}
      />
      <div className="flex h-8 shrink-0 items-center gap-2 border-b border-line px-2 text-sm">
        {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- a choice without form fields */}
        <div role="group" aria-label="What the list shows" className="flex shrink-0">
          {[...LISTS, ...capabilityTabs].map(({ value, name, title, ...tab }) => (
            <button
              key={value}
              type="button"
              aria-pressed={shownList === value}
              title={shownList === value ? undefined : title}
              className={classes(
                'inline-flex h-6 items-center gap-1 rounded px-1.5 whitespace-nowrap',
                shownList === value ? 'bg-sunken text-text' : 'text-muted hover:text-text',
              )}
              onClick={shownList === value ? undefined : () => show(value)}
            >
              {name} {'Sign' in tab && <tab.Sign run={run} />}
              {(value === 'steps' || value === 'events') && (
                <span className="font-mono">
                  {count(value === 'steps' ? rows.steps : head.events)}
                </span>
              )}
            </button>
          ))}
        </div>
        {(shownList === 'steps' ||
          shownList === 'transcript' ||
          (capability !== undefined && !isEmpty(filtering.filter))) && (
          <FilterBar run={run} shown={shown} filtering={filtering} />
        )}
        {head.status === 'recording' && !events.isOn && !isNarrow && (
          <Button
            look="quiet"
            aria-pressed={isFollowing}
            title="Select the newest step as the run grows"
            className="h-6 px-1.5 text-sm text-muted aria-pressed:bg-accent-soft aria-pressed:text-accent"
            onClick={isFollowing ? () => followedRun.set(undefined) : follow}
          >
            <span aria-hidden="true">●</span> Follow
          </Button>
        )}
        {events.isOn && <EventFilter events={events} listed={listed} />}
      </div>
      {isNarrow ? (
        <div className="min-h-0 flex-1">{list}</div>
      ) : (
        <div className="flex min-h-0 flex-1">
          <div className="min-w-0 shrink-0" style={{ width, maxWidth: '75%' }}>
            {list}
          </div>
          <Splitter
            label="Width of the list"
            orientation="vertical"
            size={width}
            min={240}
            max={1400}
            onSize={setWidth}
          />
          {chosen}
        </div>
      )}
    </>
  )
}

/**
 * If the address has no step, selects the first of these that exists: the cause that blame found, the
 * error that ended the run, the edited step of a fork, the first failure, the first step.
 */
function useInitialStep(run: Run, isOff: boolean): void {
  const { head, rows } = run
  useRows(rows)
  const { step, select } = useSelection()
  const { view, isRead, error } = useBlame(run)
  const isRecording = head.status === 'recording'
  const [wasGrowing] = useState(isRecording)
  const isWanted = step === undefined && !isOff && !isRecording && (isRead || error !== null)
  const { branch, exitStep } = head
  const isFork = branch?.kind === 'fork' && branch.at?.startsWith('e') === false
  const known = view?.causeLabels[0] ?? exitStep ?? (isFork ? branch.at : undefined)
  const first = isWanted && known === undefined ? initialStep(rows, wasGrowing) : undefined
  const chosen = first === undefined ? known : rows.at(first).label
  const label = isWanted ? chosen : undefined
  useEffect(() => {
    if (label !== undefined) select(label, { replace: true })
  }, [label, select])
}

/** Selects the newest step while a run is recorded, and finally the error that ended it. */
function useFollow(run: Run, isOff: boolean): { isFollowing: boolean; follow: () => void } {
  const { id, head, rows } = run
  const { step, select } = useSelection()
  const isFollowing = useStore(followedRun) === id
  const isRecording = head.status === 'recording'
  const [startsFollowing] = useState(isRecording && step === undefined)
  useEffect(() => {
    if (startsFollowing) followedRun.set(id)
    return () => followedRun.set(undefined)
  }, [id, startsFollowing])
  const newest = rows.length === 0 ? undefined : rows.at(rows.length - 1).label
  const label = isRecording ? newest : (head.exitStep ?? newest)
  useEffect(() => {
    if (!isFollowing || isOff || label === undefined) return
    select(label, { replace: true, follows: isRecording })
  }, [isFollowing, isOff, label, isRecording, select])
  return { isFollowing: isFollowing && isRecording, follow: () => followedRun.set(id) }
}
