import { memo, type KeyboardEvent, type ReactNode } from 'react'
import { count, plural } from '@retake/tape/present'
import { copyAndSay } from '../copy/copy-and-say.js'
import { CopyFieldLink, MARKED, scrollHere } from '../field/field-links.js'
import { LongText } from '../text/long-text.js'
import { VisibleText } from '../text/visible-text.js'
import { asClipped } from './clipped.js'
import { leftOutOf } from './left-out.js'
import { pathOf, type JsonRow } from './json-rows.js'

export interface JsonLineProps {
  readonly row: JsonRow
  readonly path: string
  readonly whole: ReactNode
  readonly isCurrent: boolean
  readonly isMarked: boolean
  readonly onToggle: () => void
  readonly onFocus: () => void
  readonly onKey: (event: KeyboardEvent) => void
}

/** Deeper lines are not moved further to the right: there would be no room for them. */
const DEEPEST_INDENT = 24

/** One line of a tree, with what can be copied of it. */
export function JsonLine({ row, path, whole, isCurrent, isMarked, ...on }: JsonLineProps) {
  const { depth, key, size, isOpen } = row
  const canOpen = size !== undefined && size > 0
  return (
    <div
      role="treeitem"
      ref={isMarked ? scrollHere : undefined}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={depth + 1}
      aria-posinset={row.place}
      aria-setsize={row.of}
      aria-expanded={canOpen ? isOpen : undefined}
      aria-current={isMarked ? 'location' : undefined}
      aria-selected={isCurrent}
      className={`group/field relative flex min-h-5 items-start pr-1 hover:bg-sunken ${isMarked ? MARKED : ''}`}
      style={{ paddingLeft: `${Math.min(depth, DEEPEST_INDENT) * 14}px` }}
      onFocus={on.onFocus}
      onKeyDown={on.onKey}
      onClick={canOpen ? on.onToggle : undefined}
    >
      <span aria-hidden="true" className="w-4 shrink-0 text-muted select-none">
        {canOpen ? (isOpen ? '▾' : '▸') : ''}
      </span>
      {depth > DEEPEST_INDENT && <span className="mr-1.5 text-muted">{depth}</span>}
      {key !== undefined && leftOutOf(key, row.value) === undefined && (
        <span className="shrink-0 whitespace-pre text-kind-model">
          <VisibleText text={shortKey(key)} />
          <span className="text-muted">: </span>
        </span>
      )}
      <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
        <Value row={row} whole={whole} />
      </span>
      <span className="absolute top-0 right-0.5 hidden gap-0.5 group-focus-within/field:flex group-hover/field:flex">
        <LineActions row={row} path={path} isCurrent={isCurrent} />
      </span>
    </div>
  )
}

const LineActions = memo(function LineActions({
  row,
  path,
  isCurrent,
}: Pick<JsonLineProps, 'row' | 'path' | 'isCurrent'>) {
  const look =
    'rounded-sm border border-line bg-surface px-1 text-xs leading-4 text-muted hover:text-text'
  return (
    <>
      <button
        type="button"
        tabIndex={isCurrent ? 0 : -1}
        className={look}
        onClick={(event) => {
          event.stopPropagation()
          void copyAndSay('the value', copyOf(row.value))
        }}
      >
        copy
      </button>
      <button
        type="button"
        tabIndex={isCurrent ? 0 : -1}
        className={look}
        onClick={(event) => {
          event.stopPropagation()
          void copyAndSay('the path', pathOf(row, ''))
        }}
      >
        path
      </button>
      <CopyFieldLink path={pathOf(row, path)} className="opacity-100" />
    </>
  )
})

function Value({ row, whole }: Pick<JsonLineProps, 'row' | 'whole'>) {
  const { key, value, size, isOpen } = row
  const leftOut = leftOutOf(key, value)
  if (leftOut !== undefined)
    return (
      <span className="font-sans text-muted">
        {count(leftOut)} more are not shown here. {whole}
      </span>
    )
  if (size !== undefined) {
    const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
    if (size === 0) return `${open}${close}`
    const word = Array.isArray(value) ? plural(size, 'entry', 'entries') : plural(size, 'member')
    return (
      <span className="text-muted">
        {isOpen ? open : `${open} … ${close}`} {word}
      </span>
    )
  }
  const clipped = asClipped(value)
  if (clipped !== undefined || typeof value === 'string') {
    const text = clipped?.head ?? (value as string)
    return (
      <span className="text-good">
        <LongText text={text} length={clipped?.length ?? text.length} whole={whole} look="quoted" />
      </span>
    )
  }
  return <span className="text-kind-process">{String(value)}</span>
}

const shortKey = (key: string): string => (key.length > 200 ? `${key.slice(0, 200)}…` : key)

/** Text as it is, everything else as JSON. */
function copyOf(value: unknown): string {
  const clipped = asClipped(value)
  if (clipped) return clipped.head
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value, undefined, 2)
  } catch {
    return String(value)
  }
}
