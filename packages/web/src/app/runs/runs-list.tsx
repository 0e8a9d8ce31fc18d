import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { useCommands } from '../commands/use-commands.js'
import type { ListedRun } from './filter-runs.js'
import { COLUMNS, RunRow } from './run-row.js'
import { UnreadableRow } from './unreadable-row.js'
import { useNow } from './use-runs.js'

export interface RunsListProps {
  readonly runs: readonly ListedRun[]
  readonly chosen: readonly string[]
  readonly onChoose: (run: string, isChosen: boolean) => void
}

/** The runs; only those on the screen are in the page. */
export function RunsList({ runs, chosen, onChoose }: RunsListProps) {
  const now = useNow()
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => runs[index]?.id ?? index,
    estimateSize: () => 33,
    overscan: 15,
  })

  /** Moves the focus from run to run; those that cannot be read have nothing to focus. */
  const move = (by: 1 | -1): void => {
    const now = document.activeElement?.closest('li')?.querySelector<HTMLElement>('[data-run]')
    const from = runs.findIndex(({ id }) => id === now?.dataset['run'])
    const place = nextReadable(runs, from, by)
    const run = runs[place]
    if (run === undefined) return
    list.scrollToIndex(place)
    focusRun(scroller.current, run.id)
  }
  useCommands([
    {
      id: 'runs.next',
      title: 'Next run',
      group: 'Move',
      keys: ['j', 'ArrowDown'],
      run: () => move(1),
    },
    {
      id: 'runs.previous',
      title: 'Previous run',
      group: 'Move',
      keys: ['k', 'ArrowUp'],
      run: () => move(-1),
    },
    {
      id: 'runs.choose',
      title: 'Choose this run to compare',
      group: 'Change',
      keys: ['x'],
      run: () => {
        const run = document.activeElement?.closest<HTMLElement>('[data-run]')?.dataset['run']
        if (run !== undefined) onChoose(run, !chosen.includes(run))
      },
    },
  ])

  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto" tabIndex={-1}>
      <div
        aria-hidden="true"
        className={`${COLUMNS} sticky top-0 z-10 h-7 border-b border-line bg-surface text-sm text-muted max-md:hidden [&>*]:text-right`}
      >
        <span />
        <span className="!text-left">Run</span>
        <span className="!text-left">Status</span>
        <span>Steps</span>
        <span>Duration</span>
        <span>Cost</span>
        <span>Started</span>
      </div>
      <ul aria-label="Runs" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start, key }) => {
          const run = runs[index]
          if (run === undefined) return null
          return (
            <li
              key={key}
              ref={list.measureElement}
              data-index={index}
              className="absolute top-0 left-0 w-full border-b border-line"
              style={{ transform: `translateY(${start}px)` }}
            >
              {'error' in run ? (
                <UnreadableRow run={run} />
              ) : (
                <RunRow
                  run={run}
                  now={now}
                  isChosen={chosen.includes(run.id)}
                  onChoose={(isChosen) => onChoose(run.id, isChosen)}
                />
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

function nextReadable(runs: readonly ListedRun[], from: number, by: 1 | -1): number {
  const start = from < 0 && by < 0 ? runs.length : from
  for (let place = start + by; place >= 0 && place < runs.length; place += by) {
    const run = runs[place]
    if (run !== undefined && !('error' in run)) return place
  }
  return -1
}

/** The row may only be drawn after the list has moved. */
function focusRun(list: HTMLElement | null, run: string, triesLeft = 5): void {
  const link = list?.querySelector<HTMLElement>(`[data-run="${CSS.escape(run)}"]`)
  if (link) link.focus()
  else if (triesLeft > 0) requestAnimationFrame(() => focusRun(list, run, triesLeft - 1))
}
