import { useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { BranchNodeView } from '../../api/branch-view.js'
import { useCommands } from '../commands/use-commands.js'
import { moveInTree } from '../design/tree-keys.js'
import { branchRows, type BranchRow } from './branch-rows.js'
import { BranchLine } from './branch-line.js'

export interface BranchTreeProps {
  readonly root: BranchNodeView
  /** The run that the page is about. */
  readonly run: string
}

/** The tree as a list with rails. Arrow keys move, open and close; Enter opens a run; `d` marks for comparing. */
export function BranchTree({ root, run }: BranchTreeProps) {
  const navigate = useNavigate()
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [chosen, setChosen] = useState(run)
  const [marked, setMarked] = useState<string>()
  const rows = useMemo(() => branchRows(root, closed), [root, closed])
  const list = useRef<HTMLDivElement>(null)
  const current = Math.max(
    0,
    rows.findIndex(({ node }) => node.id === chosen),
  )

  const go = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setChosen(rows[next]?.node.id ?? '')
    list.current?.querySelector<HTMLElement>(`[data-place="${next}"]`)?.focus()
  }
  const toggle = ({ node, isOpen }: BranchRow): void => {
    const next = new Set(closed)
    if (isOpen === true) next.add(node.id)
    else next.delete(node.id)
    setClosed(next)
  }
  const open = ({ node }: BranchRow): void =>
    void navigate({ to: '/runs/$run', params: { run: node.id }, search: openAt(node) })
  const mark = (id: string): void => {
    if (marked === undefined || marked === id) setMarked(marked === id ? undefined : id)
    else void navigate({ to: '/compare/$a/$b', params: { a: marked, b: id } })
  }
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[current]
    if (row === undefined || !(event.target as HTMLElement).matches('[role=treeitem]')) return
    const action = actionOf(event.key, { row, rows, current, go, toggle, open })
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  const row = rows[current]
  useCommands([
    {
      id: 'branch-next',
      title: 'Next branch',
      group: 'Move',
      keys: ['j'],
      run: () => go(current + 1),
    },
    {
      id: 'branch-previous',
      title: 'Previous branch',
      group: 'Move',
      keys: ['k'],
      run: () => go(current - 1),
    },
    {
      id: 'branch-compare',
      title:
        marked === undefined
          ? 'Mark this run to compare it with another one'
          : 'Compare the marked run with this one',
      group: 'Look',
      keys: ['d'],
      disabled: row?.node.error === undefined ? undefined : 'its tape cannot be read',
      run: () => row !== undefined && mark(row.node.id),
    },
    {
      id: 'branches-close-all',
      title: closed.size > 0 ? 'Open all branches' : 'Close all branches',
      group: 'View',
      keys: [],
      run: () =>
        setClosed(
          closed.size > 0
            ? new Set()
            : new Set(rows.filter(({ depth }) => depth > 0).map(({ node }) => node.id)),
        ),
    },
  ])
  return (
    <div
      ref={list}
      role="tree"
      tabIndex={-1}
      aria-label="Runs and their branches"
      onKeyDown={onKey}
    >
      {rows.map((each, index) => (
        <BranchLine
          key={each.node.id}
          row={each}
          index={index}
          isCurrent={index === current}
          isThisRun={each.node.id === run}
          isMarked={each.node.id === marked}
          markTitle={
            marked === undefined
              ? 'Compare'
              : marked === each.node.id
                ? 'Marked'
                : 'Compare with it'
          }
          onFocus={() => setChosen(each.node.id)}
          onToggle={() => toggle(each)}
          onMark={() => mark(each.node.id)}
        />
      ))}
    </div>
  )
}

/** A branch is opened where it left its parent. */
const openAt = ({ branch }: BranchNodeView): { step?: string } =>
  branch?.at === undefined || /^e\d/.test(branch.at) ? {} : { step: branch.at }

interface KeyContext {
  readonly row: BranchRow
  readonly rows: readonly BranchRow[]
  readonly current: number
  readonly go: (index: number) => void
  readonly toggle: (row: BranchRow) => void
  readonly open: (row: BranchRow) => void
}

function actionOf(key: string, context: KeyContext): (() => void) | undefined {
  const { row, rows, current, go, toggle, open } = context
  const to = moveInTree(key, current, rows.length)
  if (to !== undefined) return () => go(to)
  switch (key) {
    case 'ArrowRight':
      if (row.isOpen === false) return () => toggle(row)
      return () => row.isOpen === true && go(current + 1)
    case 'ArrowLeft':
      if (row.isOpen === true) return () => toggle(row)
      return () => {
        const parent = rows.findIndex(({ node }) => node.id === row.parent)
        if (parent >= 0) go(parent)
      }
    case 'Enter':
      return row.node.error === undefined ? () => open(row) : () => {}
    default:
      return undefined
  }
}
