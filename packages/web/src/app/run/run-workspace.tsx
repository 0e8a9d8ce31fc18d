import { useEffect, useRef } from 'react'
import { Button } from '../design/button.js'
import { StepPanel } from '../step/step-panel.js'
import { FilterBar } from './filter-bar.js'
import { firstLook } from './run-moves.js'
import { SplitHandle } from './split-handle.js'
import { StepList } from './step-list.js'
import { Timeline } from './timeline/timeline.js'
import { useFilter, useShownRows } from './use-filter.js'
import { useNarrow } from './use-narrow.js'
import { useRunCommands } from './use-run-commands.js'
import type { Run } from './use-run.js'
import { useSelection } from './use-selection.js'
import { useStored } from './use-stored.js'

/** Timeline, filters, list and step, and how they share the page. */
export function RunWorkspace({ run }: { readonly run: Run }) {
  const filtering = useFilter()
  const shown = useShownRows(run.rows, filtering.filter)
  const isNarrow = useNarrow()
  const { step, leave } = useSelection()
  const panel = useRef<HTMLElement>(null)
  const [width, setWidth] = useStored<number>('list-width', 620)
  const open = (): void => panel.current?.focus()
  const { move } = useRunCommands(run, shown, { onOpen: open, isOff: false })
  useFirstLook(run, isNarrow)

  const list = <StepList run={run} shown={shown} onMove={move} onOpen={open} />
  const step1 = (
    <section ref={panel} tabIndex={-1} aria-label="Step" className="flex h-full min-w-0 flex-1">
      <StepPanel run={run} />
    </section>
  )
  if (isNarrow && step !== undefined)
    return (
      <div className="flex min-h-0 flex-1 flex-col">
        <div className="border-b border-line p-1">
          <Button look="quiet" onClick={leave}>
            ← All steps
          </Button>
        </div>
        {step1}
      </div>
    )
  return (
    <>
      <Timeline run={run} shown={shown} filtering={filtering} isNarrow={isNarrow} onMove={move} />
      <FilterBar run={run} shown={shown} filtering={filtering} />
      {isNarrow ? (
        <div className="min-h-0 flex-1">{list}</div>
      ) : (
        <div className="flex min-h-0 flex-1">
          <div className="min-w-0 shrink-0" style={{ width, maxWidth: '75%' }}>
            {list}
          </div>
          <SplitHandle
            label="Width of the list"
            direction="vertical"
            size={width}
            min={240}
            max={1400}
            onResize={setWidth}
          />
          {step1}
        </div>
      )}
    </>
  )
}

/** Where the address names no step, the first look goes to what failed, else to the beginning. */
function useFirstLook({ head, rows }: Run, isNarrow: boolean): void {
  const { step, select } = useSelection()
  const first = firstLook(rows)
  const label = first === undefined ? undefined : rows.at(first).label
  const isWanted = step === undefined && !isNarrow && head.status !== 'recording'
  useEffect(() => {
    if (isWanted && label !== undefined) select(label, { replace: true })
  }, [isWanted, label, select])
}
