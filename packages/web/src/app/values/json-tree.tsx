import { attempt } from '@retake/tape'
import { count, DESCRIBED_WORDS, plural } from '@retake/tape/present'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  type Ref,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from 'react'
import { classes } from '../design/classes.js'
import { copyWithToast } from '../design/toast.js'
import { treeAction, type TreeRow, treeRows } from '../design/tree.js'
import { joinPath, keysWithin } from './field-path.js'
import { CopyFieldLink, MARKED, scrollHere, useFieldLinks } from './field.js'
import { LongText, VisibleText } from './text.js'
import type { Clipped } from '../../model/run-source.js'

/**
 * A value that JSON cannot express, such as a function, or that was cut. Shown as one line of text.
 * Copying it copies the captured data.
 */
export class DescribedValue {
  readonly #text: string
  readonly #captured: unknown

  constructor(text: string, captured: unknown) {
    this.#text = text
    this.#captured = captured
  }

  toString(): string {
    return this.#text
  }

  toJSON(): unknown {
    return this.#captured
  }
}

/**
 * Converts a captured value to a tree. An object with `$type` becomes text. Captured values have a
 * limited depth. Not for other JSON, where `$type` is an ordinary key.
 */
export function describeTree(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(describeTree)
  const text = wordsFor(json as Readonly<Record<string, unknown>>)
  if (text !== undefined) return new DescribedValue(text, json)
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [name, describeTree(member)]),
  )
}

export function describeLine(json: unknown): string {
  if (typeof json !== 'object' || json === null) return JSON.stringify(json) ?? ''
  if (Array.isArray(json)) return `[${json.map(describeLine).join(',')}]`
  const text = wordsFor(json as Readonly<Record<string, unknown>>)
  if (text !== undefined) return text
  const members = Object.entries(json).map(
    ([name, member]) => `${JSON.stringify(name)}:${describeLine(member)}`,
  )
  return `{${members.join(',')}}`
}

function wordsFor(json: Readonly<Record<string, unknown>>): string | undefined {
  const { $type: type, ...rest } = json
  if (typeof type !== 'string') return undefined
  if (Object.hasOwn(DESCRIBED_WORDS, type)) return DESCRIBED_WORDS[type]?.(rest)
  return Object.keys(rest).length === 0 ? `${type} {}` : undefined
}

interface JsonItem {
  readonly key: string | undefined
  readonly value: unknown
}

type JsonRow = TreeRow<JsonItem>

/** Open objects and arrays by identity, because parsed JSON has no shared objects. */
type OpenNodes = ReadonlySet<object>

const isNode = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof DescribedValue) &&
  asClipped(value) === undefined &&
  leftOutOf(undefined, value) === undefined

const membersOf = (node: object): readonly (readonly [string, unknown])[] =>
  Array.isArray(node)
    ? node.map((value, index) => [String(index), value] as const)
    : Object.entries(node)

const sizeOf = (node: object): number =>
  Array.isArray(node) ? node.length : Object.keys(node).length

export const jsonRows = (value: unknown, open: OpenNodes): JsonRow[] =>
  treeRows<JsonItem>(
    { key: undefined, value },
    {
      isOpen: ({ value: node }) => (isNode(node) && sizeOf(node) > 0 ? open.has(node) : undefined),
      partsOf: ({ value: node }) =>
        membersOf(node as object).map(([key, member]) => ({ key, value: member })),
    },
  )

/** The nodes that are open at first: outer ones, up to a number of lines. */
export function openAtFirst(value: unknown, lines = 80): Set<object> {
  const open = new Set<object>()
  let queue = isNode(value) ? [value] : []
  let left = lines
  while (queue.length > 0 && left > 0) {
    const next: object[] = []
    for (const node of queue) {
      const size = sizeOf(node)
      // The root is always open, because a closed tree shows nothing.
      if (size > left && open.size > 0) continue
      open.add(node)
      left -= size
      if (size <= lines)
        next.push(...membersOf(node).flatMap(([, each]) => (isNode(each) ? [each] : [])))
    }
    queue = next
  }
  return open
}

export function allNodes(value: unknown, limit = 20_000): Set<object> {
  const nodes = new Set<object>()
  const stack = isNode(value) ? [value] : []
  for (let node = stack.pop(); node !== undefined && nodes.size < limit; node = stack.pop()) {
    nodes.add(node)
    for (const [, each] of membersOf(node)) if (isNode(each)) stack.push(each)
  }
  return nodes
}

export function nodesTo(value: unknown, keys: readonly string[]): object[] {
  const nodes: object[] = []
  let current = value
  for (const key of keys) {
    if (!isNode(current) || !Object.hasOwn(current, key)) break
    nodes.push(current)
    current = (current as Record<string, unknown>)[key]
  }
  return nodes
}

export function rowPath(row: JsonRow, base: string): string {
  const keys: string[] = []
  for (let at: JsonRow | undefined = row; at?.item.key !== undefined; at = at.parent)
    keys.push(at.item.key)
  return keys.toReversed().reduce(joinPath, base)
}

/** The beginning of a string that was too long to send; undefined for other values. */
export function asClipped(value: unknown): Clipped['$clipped'] | undefined {
  if (typeof value !== 'object' || value === null || !('$clipped' in value)) return undefined
  const { $clipped: inner } = value
  if (typeof inner !== 'object' || inner === null) return undefined
  const { head, length } = inner as Partial<Clipped['$clipped']>
  return typeof head === 'string' && typeof length === 'number' ? { head, length } : undefined
}

export function rowTextOf(value: unknown): { readonly text: string; readonly length: number } {
  const clipped = asClipped(value)
  if (clipped) return { text: clipped.head, length: clipped.length }
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return { text, length: text.length }
}

export function jsonIn(text: string): object | undefined {
  const start = text.trimStart()[0]
  if (start !== '{' && start !== '[') return undefined
  const value = attempt(() => JSON.parse(text) as unknown)
  return typeof value === 'object' && value !== null ? value : undefined
}

/** Number of members that a limit left out; undefined if there are none. See `Clipped`. */
function leftOutOf(key: string | undefined, value: unknown): number | undefined {
  if (key === '$leftOut' && typeof value === 'number') return value
  if (typeof value !== 'object' || value === null || !('$leftOut' in value)) return undefined
  const { $leftOut: count, ...rest } = value
  return typeof count === 'number' && Object.keys(rest).length === 0 ? count : undefined
}

interface RowsHandle {
  focus(index: number): void
}

interface RowsProps {
  readonly count: number
  readonly line: (index: number) => ReactNode
  readonly handle: Ref<RowsHandle>
}

const focusItem = (within: HTMLElement | null, index: number): void =>
  within?.querySelector<HTMLElement>(`[data-line="${index}"] > [role=treeitem]`)?.focus()

function PlainRows({ count, line, handle }: RowsProps) {
  const box = useRef<HTMLDivElement>(null)
  useImperativeHandle(handle, () => ({ focus: (index) => focusItem(box.current, index) }), [])
  return (
    <div ref={box} role="none">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} data-line={index} role="none">
          {line(index)}
        </div>
      ))}
    </div>
  )
}

function VirtualRows({ count, line, handle, start }: RowsProps & { readonly start: number }) {
  const box = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 20,
    initialOffset: Math.max(0, start - 10) * 20,
  })
  useImperativeHandle(
    handle,
    () => ({
      focus: (index) => {
        list.scrollToIndex(index)
        requestAnimationFrame(() => focusItem(box.current, index))
      },
    }),
    [list],
  )
  return (
    <div ref={box} role="none" className="h-[70vh] overflow-auto border-y border-line">
      <div role="none" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start: top }) => (
          <div
            key={index}
            ref={list.measureElement}
            data-index={index}
            data-line={index}
            role="none"
            className="absolute left-0 w-full"
            style={{ transform: `translateY(${top}px)` }}
          >
            {line(index)}
          </div>
        ))}
      </div>
    </div>
  )
}

interface JsonLineProps {
  readonly row: JsonRow
  readonly path: string
  readonly whole: ReactNode
  readonly isCurrent: boolean
  readonly isMarked: boolean
  readonly onToggle: () => void
  readonly onFocus: () => void
  readonly onKey: (event: KeyboardEvent) => void
}

/** The value of a longer key is shown below it. */
const KEY_BESIDE = 32

/** Deeper lines are not indented further. */
const INDENT_MAX = 24

function JsonLine({ row, path, whole, isCurrent, isMarked, ...on }: JsonLineProps) {
  const { depth, isOpen } = row
  const { key, value } = row.item
  const isLong = key !== undefined && key.length > KEY_BESIDE
  return (
    <div
      role="treeitem"
      ref={isMarked ? scrollHere : undefined}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={depth + 1}
      aria-posinset={row.index}
      aria-setsize={row.of}
      aria-expanded={isOpen}
      aria-current={isMarked ? 'location' : undefined}
      aria-selected={isCurrent}
      className={classes(
        'group/field relative flex min-h-5 items-start pr-1 hover:bg-sunken',
        isMarked && MARKED,
      )}
      style={{ paddingLeft: `${Math.min(depth, INDENT_MAX) * 14}px` }}
      onFocus={on.onFocus}
      onKeyDown={on.onKey}
      onClick={isOpen === undefined ? undefined : on.onToggle}
    >
      <span aria-hidden="true" className="w-4 shrink-0 text-muted select-none">
        {isOpen === undefined ? '' : isOpen ? '▾' : '▸'}
      </span>
      {depth > INDENT_MAX && <span className="mr-1.5 text-muted">{depth}</span>}
      <span className={isLong ? 'flex min-w-0 flex-1 flex-col' : 'contents'}>
        {key !== undefined && leftOutOf(key, value) === undefined && (
          <span
            className={classes(
              'whitespace-pre-wrap text-kind-model wrap-anywhere',
              !isLong && 'max-w-1/2 shrink-0',
            )}
          >
            <VisibleText text={key.length > 200 ? `${key.slice(0, 200)}…` : key} />
            <span className="text-muted">: </span>
          </span>
        )}
        <span
          className={classes(
            'min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere',
            isLong && 'pl-3.5',
          )}
        >
          <Value row={row} whole={whole} />
        </span>
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
          void copyWithToast('the value', copyOf(row.item.value))
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
          void copyWithToast('the path', rowPath(row, ''))
        }}
      >
        path
      </button>
      <CopyFieldLink path={rowPath(row, path)} className="opacity-100" />
    </>
  )
})

function Value({ row, whole }: Pick<JsonLineProps, 'row' | 'whole'>) {
  const { key, value } = row.item
  const leftOut = leftOutOf(key, value)
  if (leftOut !== undefined)
    return (
      <span className="font-sans text-muted">
        {count(leftOut)} more are not shown here. {whole}
      </span>
    )
  if (isNode(value)) {
    const size = sizeOf(value)
    const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
    if (size === 0) return `${open}${close}`
    const word = plural(size, Array.isArray(value) ? 'item' : 'key')
    return (
      <span className="text-muted">
        {row.isOpen ? open : `${open}…${close}`} {word}
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

/** Up to this many lines, all are in the DOM, so that the browser's search finds them. */
const PLAIN_LINES = 400

interface JsonTreeProps {
  readonly label: string
  readonly value: unknown
  readonly path: string
  /** Offered if a string was cut. */
  readonly whole?: ReactNode
}

/** Arrow keys move, open and close. Long trees are virtualized. */
export function JsonTree({ label, value, path, whole }: JsonTreeProps) {
  const { field } = useFieldLinks()
  const wanted = useMemo(() => keysWithin(path, field), [path, field])
  const [cached, setCached] = useState<{ value: unknown; field: unknown; open: Set<object> }>()
  // Another value or a link to another field resets the open nodes.
  const open = useMemo(
    () =>
      cached !== undefined && cached.value === value && cached.field === field
        ? cached.open
        : new Set([...openAtFirst(value), ...nodesTo(value, wanted ?? [])]),
    [cached, value, field, wanted],
  )
  const rows = useMemo(() => jsonRows(value, open), [value, open])
  const marked = useMemo(() => markedRow(rows, path, wanted, field), [rows, path, wanted, field])
  const [chosen, setChosen] = useState<number>()
  const current = Math.min(chosen ?? Math.max(marked, 0), rows.length - 1)
  const setOpen = (next: Set<object>): void => setCached({ value, field, open: next })
  const toggle = (row: JsonRow): void => {
    const next = new Set(open)
    const node = row.item.value as object
    if (!next.delete(node)) next.add(node)
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
    const isToggle = (event.key === 'Enter' || event.key === ' ') && row.isOpen !== undefined
    const action = isToggle
      ? () => toggle(row)
      : treeAction(event.key, rows, current, { go, toggle })
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
  const isLarge = rows.length > 40 || rows.some(({ isOpen }) => isOpen === false)
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

/** The row that a link points to, or its nearest visible ancestor; -1 for none. */
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
    if (row.item.key !== wanted[row.depth - 1] && row.depth > 0) continue
    if (keysWithin(rowPath(row, path), field) === undefined) continue
    ;[best, bestDepth] = [index, row.depth]
    if (row.depth === wanted.length) break
  }
  return best
}
