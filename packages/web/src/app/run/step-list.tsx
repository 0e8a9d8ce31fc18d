import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { useRows, type Run } from './use-run.js'
import { useSelection } from './use-selection.js'
const ROW_HEIGHT = 28

/** The steps of a run; only what is on the screen is in the page. */
export function StepList({ run: { rows } }: { readonly run: Run }) {
  useRows(rows)
  const { step, select } = useSelection()
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
  })
  return (
    <div ref={scroller} className="w-105 overflow-auto border-r border-line">
      <div className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start }) => {
          const row = rows.at(index)
          return (
            <button
              key={row.label}
              type="button"
              aria-current={row.label === step ? 'true' : undefined}
              className="absolute left-0 flex w-full gap-2 truncate px-2 text-left aria-[current]:bg-accent-soft"
              style={{ top: start, height: ROW_HEIGHT }}
              onClick={() => select(row.label)}
            >
              <span className="w-8 text-right text-muted">{row.label}</span>
              <span className="truncate">{row.title}</span>
            </button>
          )
        })}
      </div>
    </div>
  )
}
