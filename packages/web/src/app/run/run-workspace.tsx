import { useEffect, useRef, useState } from 'react'
import { BlamePanel } from '../blame/blame-panel.js'
import { BlameSign } from '../blame/blame-sign.js'
import { useBlame } from '../blame/use-blame.js'
import { useBlameCommands } from '../blame/use-blame-commands.js'
import { Button } from '../design/button.js'
import { useRemembered } from '../design/remembered.js'
import { Splitter } from '../design/splitter.js'
import { StepPanel } from '../step/step-panel.js'
import { EventList } from './events/event-list.js'
import { EventPanel } from './events/event-panel.js'
import { useEventSelection } from './events/use-event-selection.js'
import { FilterBar } from './filter-bar.js'
import { ListMode } from './list-mode.js'
import { firstLook } from './run-moves.js'
import { StepList } from './step-list.js'
import { isEmpty } from './row-filter.js'
import { Timeline } from './timeline/timeline.js'
import { useEventCommands } from './events/use-event-commands.js'
import { useFilter, useShownRows } from './use-filter.js'
import { useList } from './use-list.js'
import { useNarrow } from './use-narrow.js'
import { useRunCommands } from './use-run-commands.js'
import type { Run } from './use-run.js'
import { useSelection } from './use-selection.js'

const BACK_TO = { steps: 'All steps', events: 'All events', blame: 'Blame' } as const

/** Timeline, filters, list and step, and how they share the page. */
export function RunWorkspace({ run }: { readonly run: Run }) {
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
  const { move } = useRunCommands(run, shown, { onOpen: open, isOff: events.isOn })
  const { moveEvent } = useEventCommands(run, events, { onOpen: open })
  useBlameCommands(run)
  useFirstLook(run, isNarrow || events.isOn)

  const list = events.isOn ? (
    <EventList run={run} onMove={moveEvent} onOpen={open} />
  ) : shownList === 'blame' ? (
    <BlamePanel run={run} />
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
  if (isNarrow && (events.isOn ? events.event : step) !== undefined)
    return (
      <div className="flex min-h-0 flex-1 flex-col">
        <div className="border-b border-line p-1">
          <Button look="quiet" onClick={events.isOn ? () => events.select(undefined) : leave}>
            <span aria-hidden="true">←</span> {BACK_TO[shownList]}
          </Button>
        </div>
        {chosen}
      </div>
    )
  return (
    <>
      <Timeline run={run} shown={shown} filtering={filtering} isNarrow={isNarrow} onMove={move} />
      <div className="flex h-8 shrink-0 items-center gap-2 border-b border-line px-2 text-sm">
        <ListMode
          list={shownList}
          steps={rows.length}
          events={head.events}
          blame={<BlameSign run={run} />}
          onShow={show}
        />
        {(shownList === 'steps' || (shownList === 'blame' && !isEmpty(filtering.filter))) && (
          <FilterBar run={run} shown={shown} filtering={filtering} />
        )}
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
 * Where the address names no step, the first look goes to what failed, else to the beginning.
 * Who asks for what blame found looks at the cause.
 */
function useFirstLook(run: Run, isOff: boolean): void {
  const { head, rows } = run
  const { step, select } = useSelection()
  const { list } = useList()
  const { view, isRead, error } = useBlame(run)
  const isBlame = list === 'blame' && head.status !== 'recording'
  const [wasGrowing] = useState(head.status === 'recording')
  const isKnown = !isBlame || isRead || error !== null
  const isWanted = step === undefined && !isOff && isKnown && head.status !== 'recording'
  const first = isWanted ? firstLook(rows, wasGrowing) : undefined
  const [cause] = isBlame && isWanted ? (view?.causeLabels ?? []) : []
  const label = first === undefined ? undefined : (cause ?? rows.at(first).label)
  useEffect(() => {
    if (label !== undefined) select(label, { replace: true })
  }, [label, select])
}
