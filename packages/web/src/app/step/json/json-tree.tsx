import { useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { moveInTree } from '../../design/tree-keys.js'
import { keysWithin } from '../field/field-path.js'
import { useFieldLinks } from '../field/field-links.js'
import { JsonLine } from './json-line.js'
import { allNodes, jsonRows, nodesTo, openAtFirst, pathOf, type JsonRow } from './json-rows.js'
import { PlainRows, VirtualRows, type RowsHandle } from './tree-rows.js'

/** Up to so many lines are all in the page, so that the browser's own search finds them. */
const PLAIN_LINES = 400

export interface JsonTreeProps {
  readonly label: string
  readonly value: unknown
  /** Path of the whole, for links to its members. */
  readonly path: string
  /** Offered where a string is not all there. */
  readonly whole?: ReactNode
}

/** A value as a tree: arrow keys move, open and close; long ones draw only what is on the screen. */
export function JsonTree({ label, value, path, whole }: JsonTreeProps) {
  const { field } = useFieldLinks()
  const wanted = useMemo(() => keysWithin(path, field), [path, field])
  const [kept, setKept] = useState<{ value: unknown; field: unknown; open: Set<object> }>()
  // Another value, or a link to another place, is opened anew.
  const open = useMemo(
    () =>
      kept !== undefined && kept.value === value && kept.field === field
        ? kept.open
        : new Set([...openAtFirst(value), ...nodesTo(value, wanted ?? [])]),
    [kept, value, field, wanted],
  )
  const rows = useMemo(() => jsonRows(value, open), [value, open])
  const marked = useMemo(() => markedRow(rows, path, wanted, field), [rows, path, wanted, field])
  const [chosen, setChosen] = useState<number>()
  const current = Math.min(chosen ?? Math.max(marked, 0), rows.length - 1)
  const setOpen = (next: Set<object>): void => setKept({ value, field, open: next })
  const toggle = (row: JsonRow): void => {
    const next = new Set(open)
    if (!next.delete(row.value as object)) next.add(row.value as object)
    setOpen(next)
  }
  const list = useRef<RowsHandle>(null)
  const go = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setChosen(next)
    list.current?.focus(next)
  }
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[current]
    if (row === undefined || !(event.target as Element).matches('[role=treeitem]')) return
    const action = keyAction(event.key, { row, rows, current, go, toggle })
    if (action === undefined) return
    event.preventDefault()
    event.stopPropagation()
    action()
  }
  const line = (index: number): ReactNode => {
    const row = rows[index] as JsonRow
    return (
      <JsonLine
        row={row}
        path={path}
        whole={whole}
        isCurrent={index === current}
        isMarked={index === marked}
        onToggle={() => {
          setChosen(index)
          toggle(row)
        }}
        onFocus={() => setChosen(index)}
        onKey={onKey}
      />
    )
  }
  const isLarge = rows.length > 40 || rows.some(({ size, isOpen }) => (size ?? 0) > 0 && !isOpen)
  return (
    <div className="min-w-0">
      {isLarge && (
        <div className="mb-1 flex gap-3 text-sm text-muted">
          <button
            type="button"
            className="hover:text-text"
            onClick={() => setOpen(allNodes(value))}
          >
            Open all
          </button>
          <button
            type="button"
            className="hover:text-text"
            onClick={() => setOpen(new Set(nodesTo(value, ['0'])))}
          >
            Close all
          </button>
        </div>
      )}
      <div role="tree" aria-label={label} className="font-mono text-sm">
        {rows.length <= PLAIN_LINES ? (
          <PlainRows key="plain" count={rows.length} line={line} handle={list} />
        ) : (
          <VirtualRows key="virtual" count={rows.length} line={line} handle={list} start={marked} />
        )}
      </div>
    </div>
  )
}

/** The row a link points to, or the nearest one around it that is there; -1 for none. */
function markedRow(
  rows: readonly JsonRow[],
  path: string,
  wanted: readonly string[] | undefined,
  field: string | undefined,
): number {
  if (wanted === undefined || field === undefined) return -1
  let best = -1
  let bestDepth = -1
  for (const [index, row] of rows.entries()) {
    if (row.depth > wanted.length || row.depth <= bestDepth) continue
    if (row.key !== wanted[row.depth - 1] && row.depth > 0) continue
    if (keysWithin(pathOf(row, path), field) === undefined) continue
    ;[best, bestDepth] = [index, row.depth]
    if (row.depth === wanted.length) break
  }
  return best
}

interface KeyContext {
  readonly row: JsonRow
  readonly rows: readonly JsonRow[]
  readonly current: number
  readonly go: (index: number) => void
  readonly toggle: (row: JsonRow) => void
}

function keyAction(key: string, context: KeyContext): (() => void) | undefined {
  const { row, rows, current, go, toggle } = context
  const to = moveInTree(key, current, rows.length)
  if (to !== undefined) return () => go(to)
  const canOpen = row.size !== undefined && row.size > 0
  switch (key) {
    case 'ArrowRight':
      return canOpen && !row.isOpen ? () => toggle(row) : () => go(current + 1)
    case 'ArrowLeft':
      if (row.isOpen) return () => toggle(row)
      return () => go(row.parent === undefined ? current : rows.indexOf(row.parent))
    case 'Enter':
    case ' ':
      return canOpen ? () => toggle(row) : () => {}
    default:
      return undefined
  }
}
