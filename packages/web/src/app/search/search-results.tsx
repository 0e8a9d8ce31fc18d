// A list that an input moves through has no tag of its own.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import type { SearchHit } from '../../model/run-parts.js'
import { classes } from '../design/classes.js'
import { KindMark } from '../design/kind-mark.js'
import type { RowStore } from '../run/row-store.js'
import type { SearchState } from './search-store.js'

export interface SearchResultsProps {
  readonly state: SearchState
  /** Says what the steps are called, where it is known. */
  readonly rows: RowStore | undefined
  readonly at: number
  readonly onOpen: (hit: number) => void
}

type Line = { readonly step: string | undefined } | { readonly hit: number }

/** Hits by step; only those on the screen are in the page. */
export function SearchResults({ state: { hits, query }, rows, at, onOpen }: SearchResultsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const { lines, lineOf } = useMemo(() => group(hits), [hits])
  const list = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 28,
    overscan: 12,
  })
  useEffect(() => {
    const line = lineOf[at]
    if (line !== undefined) list.scrollToIndex(at === 0 ? 0 : line)
  }, [at, lineOf, list])
  return (
    <div
      ref={scroller}
      id="search-hits"
      role="listbox"
      aria-label={`Hits for ${query}`}
      tabIndex={-1}
      className="min-h-0 flex-1 overflow-auto"
    >
      <div role="presentation" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start, size }) => {
          const line = lines[index]
          if (line === undefined) return null
          const place = { top: start, height: size }
          if (!('hit' in line))
            return (
              <div
                key={`step ${index}`}
                // A list holds options only; each of them says its step aloud.
                aria-hidden="true"
                className="absolute left-0 flex w-full items-center gap-2 border-t border-line bg-raised px-4"
                style={place}
              >
                <StepName step={line.step} rows={rows} />
              </div>
            )
          return (
            <Hit
              key={line.hit}
              hit={hits[line.hit] as SearchHit}
              place={line.hit}
              count={hits.length}
              isCurrent={line.hit === at}
              style={place}
              onOpen={onOpen}
            />
          )
        })}
      </div>
    </div>
  )
}

interface HitProps {
  readonly hit: SearchHit
  readonly place: number
  readonly count: number
  readonly isCurrent: boolean
  readonly style: { readonly top: number; readonly height: number }
  readonly onOpen: (hit: number) => void
}

function Hit({ hit, place, count, isCurrent, style, onOpen }: HitProps) {
  const { step, field, path, snippet, start, length } = hit
  return (
    <div
      id={`search-hit-${place}`}
      role="option"
      tabIndex={-1}
      aria-selected={isCurrent}
      aria-posinset={place + 1}
      aria-setsize={count}
      title={path === '' ? field : `${field} ${path}`}
      className={classes(
        'absolute left-0 flex w-full cursor-pointer items-center gap-3 px-4',
        isCurrent ? 'bg-accent-soft' : 'hover:bg-sunken',
      )}
      style={style}
      onClick={() => onOpen(place)}
      onKeyDown={() => {}}
    >
      <span className="sr-only">{step === undefined ? 'Outside of steps' : `Step ${step}`}</span>
      <span className="w-16 shrink-0 text-sm text-muted">{field}</span>
      <span className="min-w-0 truncate font-mono text-sm whitespace-pre">
        <Before text={snippet.slice(0, start)} />
        <mark>{snippet.slice(start, start + length)}</mark>
        {snippet.slice(start + length)}
      </span>
    </div>
  )
}

/** Characters before a hit that a phone has room for. */
const NEAR = 16

/** The text before a hit; on a phone only its end, so that the hit is seen. */
function Before({ text }: { readonly text: string }) {
  if (text.length <= NEAR) return text
  return (
    <>
      <span className="sm:hidden">…</span>
      <span className="max-sm:hidden">{text.slice(0, -NEAR)}</span>
      {text.slice(-NEAR)}
    </>
  )
}

function StepName({
  step,
  rows,
}: {
  readonly step: string | undefined
  readonly rows: RowStore | undefined
}) {
  if (step === undefined) return <span className="text-sm text-muted">Outside of steps</span>
  const place = rows?.placeOf(step) ?? -1
  const row = place < 0 ? undefined : rows?.at(place)
  return (
    <>
      {row && <KindMark kind={row.kind} />}
      <span className="shrink-0 font-mono text-sm text-muted">{step}</span>
      <span className="truncate">{row?.title}</span>
    </>
  )
}

/** A heading wherever the step changes, and at which line each hit is. */
function group(hits: readonly SearchHit[]): { lines: readonly Line[]; lineOf: readonly number[] } {
  const lines: Line[] = []
  const lineOf: number[] = []
  for (const [index, { step }] of hits.entries()) {
    if (index === 0 || hits[index - 1]?.step !== step) lines.push({ step })
    lineOf.push(lines.push({ hit: index }) - 1)
  }
  return { lines, lineOf }
}
