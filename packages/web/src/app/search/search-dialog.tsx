import { count, plural } from '@retake/tape/present'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import type { SearchHit } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { KindMark } from '../design/badge.js'
import { IconButton, Kbd } from '../design/button.js'
import { classes } from '../design/classes.js'
import { FinderDialog, FinderInput } from '../design/dialog.js'
import { CloseIcon } from '../design/icons.js'
import { ErrorNote, ProgressNote } from '../design/notes.js'
import { showToast } from '../design/toast.js'
import type { RowStore } from '../run/data/row-store.js'
import { route, useSearchChange } from '../run/data/use-selection.js'
import { useOpenRun } from '../run/data/open-run.js'
import { useBackend } from '../sources/backend.js'
import { useStore } from '../design/store.js'
import { locationOfHit, type SearchState, searchStore } from './search-store.js'

function useSearch() {
  const { run: id } = route.useParams()
  const { q = '' } = route.useSearch()
  const change = useSearchChange()
  const backend = useBackend()
  const open = useOpenRun()
  const known = open?.id === id ? open : undefined
  const fallback = useMemo(() => backend.run(id), [backend, id])
  const source = known?.source ?? fallback

  useEffect(() => {
    if (q === '') searchStore.clear()
    else void searchStore.start(source, q)
    // Does not restart when the run becomes known, because both sources find the same.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, q])
  useEffect(() => () => searchStore.clear(), [])

  const request = (text: string): void =>
    change(({ q: _old, ...rest }) => ({ ...rest, ...(text !== '' && { q: text }) }), true)

  const go = (at: number): void => {
    const hit = searchStore.get().hits[at]
    if (hit === undefined) return
    searchStore.goTo(at)
    const step = hit.step ?? stepBefore(hit)
    change(({ field: _field, tab, ...rest }) => ({
      ...rest,
      ...(step !== undefined && { step }),
      tab,
      ...locationOfHit(hit),
    }))
  }

  /** The last step that had begun, for hits outside of steps. */
  const stepBefore = ({ seq }: SearchHit): string | undefined => {
    const rows = known?.rows
    if (rows === undefined) return undefined
    for (let index = rows.length - 1; index >= 0; index--) {
      const row = rows.at(index)
      if (!row.inferred && row.seq <= seq) return row.label
    }
    return rows.length > 0 ? rows.at(0).label : undefined
  }

  return { q, request, go, rows: known?.rows }
}

/** Searches the whole run: commands, dialog, and moving between hits without the dialog. */
export function SearchHost() {
  const { q: linked, step } = route.useSearch()
  // A link without a step opens the results; a link with a step shows the step.
  const [isOpen, setIsOpen] = useState(() => linked !== undefined && step === undefined)
  const found = useSearch()
  const { q, request, go } = found
  const { hits, at, isDone } = useStore(searchStore)
  const none =
    q === '' ? 'There is no search' : hits.length === 0 && isDone ? 'Nothing was found' : undefined

  const move = (by: 1 | -1): void => {
    const next = at + by
    if (next < 0 || next >= hits.length) {
      const index = next < 0 ? 'first' : isDone ? 'last' : 'last so far'
      showToast(`That was the ${index} of ${hits.length} hits.`)
    } else go(next)
  }
  useCommands((add) => {
    const search = { keys: ['/', 'Mod+Shift+f'], words: 'find text' }
    add('Look', 'search', 'Search everything in this run', search, () => setIsOpen(true))
    const next = { keys: ['n'], disabled: none }
    add('Move', 'search.next', 'Next hit of the search', next, () => move(1))
    const previous = { keys: ['N'], disabled: none }
    add('Move', 'search.previous', 'Previous hit of the search', previous, () => move(-1))
    const disabled = q === '' ? 'There is no search' : undefined
    add('Look', 'search.clear', 'End the search', { disabled }, () => request(''))
  })
  const close = (): void => setIsOpen(false)
  return (
    <FinderDialog
      label="Search this run"
      isOpen={isOpen}
      onClose={close}
      className="sm:top-[8vh] sm:h-[80vh] sm:max-w-240"
    >
      <Searching search={found} onClose={close} />
    </FinderDialog>
  )
}

// An ARIA listbox controlled by an input. HTML has no element for it.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */

interface SearchResultsProps {
  readonly state: SearchState
  /** Provides the titles of steps, once they are known. */
  readonly rows: RowStore | undefined
  readonly at: number
  readonly onOpen: (hit: number) => void
}

type Line = { readonly step: string | undefined } | { readonly hit: number }

/** Grouped by step; virtualised. */
function SearchResults({ state: { hits, query }, rows, at, onOpen }: SearchResultsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const { lines, lineOf } = useMemo(() => {
    const lines: Line[] = []
    const lineOf: number[] = []
    for (const [index, { step }] of hits.entries()) {
      if (index === 0 || hits[index - 1]?.step !== step) lines.push({ step })
      lineOf.push(lines.push({ hit: index }) - 1)
    }
    return { lines, lineOf }
  }, [hits])
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
          const position = { top: start, height: size }
          if (!('hit' in line))
            return (
              <div
                key={`step ${index}`}
                // A listbox may contain only options. Each option announces its step.
                aria-hidden="true"
                className="absolute left-0 flex w-full items-center gap-2 border-t border-line bg-raised px-4"
                style={position}
              >
                <StepName step={line.step} rows={rows} />
              </div>
            )
          return (
            <Hit
              key={line.hit}
              hit={hits[line.hit] as SearchHit}
              index={line.hit}
              count={hits.length}
              isCurrent={line.hit === at}
              style={position}
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
  readonly index: number
  readonly count: number
  readonly isCurrent: boolean
  readonly style: { readonly top: number; readonly height: number }
  readonly onOpen: (hit: number) => void
}

function Hit({ hit, index, count, isCurrent, style, onOpen }: HitProps) {
  const { step, field, path, snippet, start, length } = hit
  return (
    <div
      id={`search-hit-${index}`}
      role="option"
      tabIndex={-1}
      aria-selected={isCurrent}
      aria-posinset={index + 1}
      aria-setsize={count}
      title={path === '' ? field : `${field} ${path}`}
      className={classes(
        'absolute left-0 flex w-full cursor-pointer items-center gap-3 px-4',
        isCurrent ? 'bg-accent-soft' : 'hover:bg-sunken',
      )}
      style={style}
      onClick={() => onOpen(index)}
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

const NEAR = 16

/** On phones, shows only the end of the text, so that the hit is visible. */
function Before({ text }: { text: string }) {
  if (text.length <= NEAR) return text
  return (
    <>
      <span className="sm:hidden">…</span>
      <span className="max-sm:hidden">{text.slice(0, -NEAR)}</span>
      {text.slice(-NEAR)}
    </>
  )
}

function StepName({ step, rows }: { step: string | undefined; rows: RowStore | undefined }) {
  if (step === undefined) return <span className="text-sm text-muted">Outside of steps</span>
  const index = rows?.indexOf(step) ?? -1
  const row = index < 0 ? undefined : rows?.at(index)
  return (
    <>
      {row && <KindMark kind={row.kind} />}
      <span className="shrink-0 font-mono text-sm text-muted">{step}</span>
      <span className="truncate">{row?.title}</span>
    </>
  )
}

interface SearchingProps {
  readonly search: ReturnType<typeof useSearch>
  readonly onClose: () => void
}

const REST_MS = 150

function Searching({ search, onClose }: SearchingProps) {
  const [text, setText] = useState(search.q)
  const state = useStore(searchStore)
  const [at, setAt] = useState(Math.max(0, state.at))
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const last = state.hits.length - 1
  const index = Math.min(at, last)

  const type = (next: string): void => {
    setText(next)
    setAt(0)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => search.request(next), REST_MS)
  }
  const open = (hit: number): void => {
    if (hit < 0 || hit > last) return
    search.go(hit)
    onClose()
  }
  const press = (event: KeyboardEvent): void => {
    const next = {
      ArrowDown: Math.min(last, index + 1),
      ArrowUp: Math.max(0, index - 1),
      PageDown: Math.min(last, index + 12),
      PageUp: Math.max(0, index - 12),
    }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      setAt(next)
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      if (text === state.query) open(index)
      else {
        clearTimeout(timer.current)
        search.request(text)
      }
    }
  }

  return (
    <>
      <div className="flex shrink-0 items-center gap-1 border-b border-line pr-2">
        <FinderInput
          label="Search messages, arguments, results, headers, errors, output and files"
          placeholder="Search everything in this run"
          list="search-hits"
          option={index >= 0 ? `search-hit-${index}` : undefined}
          value={text}
          onChange={type}
          onKeyDown={press}
        />
        <IconButton label="Close" icon={<CloseIcon />} onClick={onClose} />
      </div>
      {state.error !== undefined && (
        <div className="shrink-0 p-3">
          <ErrorNote error={state.error} />
        </div>
      )}
      <SearchResults state={state} rows={search.rows} at={index} onOpen={open} />
      <SearchProgressLine state={state} at={index} />
    </>
  )
}

function SearchProgressLine({ state, at }: { state: SearchState; at: number }) {
  const { query, hits, searched, total, isDone, isCut } = state
  const steps = new Set(hits.flatMap(({ step }) => step ?? [])).size
  return (
    <div className="shrink-0 border-t border-line bg-raised text-sm text-muted">
      {!isDone && <ProgressNote label="Steps searched" value={searched ?? 0} max={total ?? 1} />}
      <div className="flex min-h-7 flex-wrap items-center gap-x-4 px-4 py-1">
        <output className="min-w-0 flex-1">
          {query === ''
            ? 'Ignores case. Titles, messages, arguments, results, bodies, headers, errors, output and files are searched.'
            : [
                hits.length > 0 &&
                  `${count(at + 1)} of ${plural(hits.length, 'hit')} in ${plural(steps, 'step')}`,
                hits.length === 0 && isDone && 'Nothing was found.',
                isCut && 'There are more hits than shown: refine the search.',
                !isDone &&
                  total !== undefined &&
                  `searched ${count(searched ?? 0)} of ${plural(total, 'step')}`,
              ]
                .filter(Boolean)
                .join(' · ')}
        </output>
        {hits.length > 0 && (
          <span className="flex items-center gap-1.5 max-sm:hidden">
            <Kbd keys="Enter" /> open, then <Kbd keys="n" /> next and <Kbd keys="N" /> previous
          </span>
        )}
      </div>
    </div>
  )
}

export function SearchNote() {
  const { query, hits, at } = useStore(searchStore)
  if (query === '' || at < 0) return null
  return (
    <span className="flex items-center gap-1.5">
      <span className="max-w-40 truncate">“{query}”</span>
      {count(at + 1)} of {count(hits.length)}
      <span className="flex gap-1 max-sm:hidden">
        <Kbd keys="n" />
        <Kbd keys="N" />
      </span>
    </span>
  )
}
