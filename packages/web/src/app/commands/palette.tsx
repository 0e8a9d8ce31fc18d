import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Kbd } from '../design/button.js'
import { classes } from '../design/classes.js'
import { FinderDialog, FinderInput } from '../design/dialog.js'
import { useOpenRun } from '../run/data/open-run.js'
import { useBackend } from '../sources/backend.js'
import { keysOf, useAllCommands, useKeySettings } from './commands.js'
import { commandItems, type PaletteItem, runItems, stepItems } from './palette-items.js'

export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const chosen = useRef<PaletteItem>(undefined)
  return (
    <FinderDialog
      label="Commands"
      isOpen={isOpen}
      onClose={onClose}
      onClosed={() => {
        // Run after the focus is restored, because the command may open a dialog.
        const item = chosen.current
        chosen.current = undefined
        item?.run()
      }}
      className="sm:top-[10vh] sm:max-h-[70vh] sm:max-w-150"
    >
      <Finder
        onChoose={(item) => {
          chosen.current = item
          onClose()
        }}
      />
    </FinderDialog>
  )
}

function Finder({ onChoose }: { onChoose: (item: PaletteItem) => void }) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const find = useFind()
  const deferred = useDeferredValue(query)
  // Not recomputed for every arrow key, because there may be 100,000 steps.
  const { items, isPartial } = useMemo(() => find(deferred), [find, deferred])
  const index = Math.min(at, items.length - 1)

  const press = (event: KeyboardEvent): void => {
    const last = items.length - 1
    const next = {
      ArrowDown: index >= last ? 0 : index + 1,
      ArrowUp: index <= 0 ? last : index - 1,
      PageDown: Math.min(last, index + 8),
      PageUp: Math.max(0, index - 8),
    }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      setAt(next)
    }
    if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      // The displayed list may lag behind fast typing.
      const item = query === deferred ? items[index] : find(query).items[at]
      if (item !== undefined && item.disabled === undefined) onChoose(item)
    }
  }

  return (
    <>
      <div className="flex shrink-0 items-center border-b border-line">
        <FinderInput
          label="Find a command, a run or a step"
          placeholder="Command, run, or step by number or title"
          list="palette-list"
          option={index >= 0 ? `palette-${index}` : undefined}
          value={query}
          onChange={(next) => {
            setQuery(next)
            setAt(0)
          }}
          onKeyDown={press}
        />
        <Dialog.Close className="mr-2 h-7 rounded px-2 text-muted hover:bg-sunken sm:hidden">
          Close
        </Dialog.Close>
      </div>
      <PaletteList items={items} at={index} onChoose={onChoose} />
      {isPartial && (
        <p className="shrink-0 border-t border-line px-4 py-1.5 text-sm text-muted">
          Not all steps were searched; use search (/) for all of them.
        </p>
      )}
    </>
  )
}

type Find = (query: string) => { items: readonly PaletteItem[]; isPartial: boolean }

function useFind(): Find {
  const backend = useBackend()
  const run = useOpenRun()
  const navigate = useNavigate()
  const [settings] = useKeySettings()
  const runs = useQuery({
    queryKey: ['runs'],
    queryFn: () => backend.runs(),
    enabled: backend.onlyRun === undefined,
  })
  const commands = useAllCommands()
  const known = runs.data
  return useMemo(() => {
    const toRun = (id: string): void =>
      void navigate({ to: '/runs/$run', params: { run: id }, search: {} })
    const toStep = (step: string): void => {
      if (run === undefined) return
      void navigate({
        to: '/runs/$run',
        params: { run: run.id },
        search: ({ field: _field, ...rest }: Record<string, unknown>) => ({ ...rest, step }),
      })
    }
    return (query) => {
      const done = commandItems(query, commands, (command) => keysOf(command, settings))
      const steps =
        run === undefined ? { items: [], isPartial: false } : stepItems(query, run.rows, toStep)
      const others = runItems(query, known ?? [], toRun)
      const items = /^\d/.test(query.trim())
        ? [...steps.items, ...done, ...others]
        : [...done, ...steps.items, ...others]
      // The group of the best item comes first.
      const groups = [...new Set(items.map(({ group }) => group))]
      return {
        items: groups.flatMap((group) => items.filter((item) => item.group === group)),
        isPartial: steps.isPartial,
      }
    }
  }, [commands, settings, run, known, navigate])
}

// An ARIA listbox controlled by an input. HTML has no element for it.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */

interface PaletteListProps {
  readonly items: readonly PaletteItem[]
  readonly at: number
  readonly onChoose: (item: PaletteItem) => void
}

function PaletteList({ items, at, onChoose }: PaletteListProps) {
  const current = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // In newer browsers, this returns a promise, which is not a cleanup function.
    current.current?.scrollIntoView({ block: 'nearest' })
  }, [at])
  return (
    <div
      id="palette-list"
      role="listbox"
      aria-label="Found"
      className="min-h-0 flex-1 overflow-auto pb-1.5"
    >
      {items.length === 0 && <p className="px-4 py-6 text-center text-muted">No match.</p>}
      {items.map((item, index) => (
        <div key={item.id} role="presentation">
          {items[index - 1]?.group !== item.group && (
            <p role="presentation" className="px-4 pt-2.5 pb-1 text-sm text-muted">
              {item.group}
            </p>
          )}
          <div
            ref={index === at ? current : undefined}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            aria-disabled={item.disabled !== undefined}
            className={classes(
              'mx-1.5 flex min-h-7 cursor-pointer items-center gap-2 rounded px-2.5 py-1',
              index === at ? 'bg-accent-soft' : 'hover:bg-sunken',
            )}
            onClick={() => item.disabled === undefined && onChoose(item)}
            onKeyDown={() => {}}
          >
            <span
              className={classes(
                'min-w-0 flex-1 truncate',
                item.disabled !== undefined && 'text-muted',
              )}
            >
              <Marked text={item.title} indexes={item.indexes} />
              {(item.disabled ?? item.note) !== undefined && (
                <span className="text-muted"> · {item.disabled ?? item.note}</span>
              )}
            </span>
            {item.keys?.map((key) => (
              <Kbd key={key} keys={key} />
            ))}
          </div>
        </div>
      ))}
    </div>
  )
}

function Marked({ text, indexes }: { text: string; indexes: readonly number[] }) {
  const [first, last] = [indexes[0], indexes.at(-1)]
  if (first === undefined || last === undefined) return text
  const stressed = new Set(indexes)
  const parts: { at: number; text: string; isStressed: boolean }[] = []
  for (let at = 0; at < text.length; at++) {
    const isStressed = stressed.has(at)
    const before = parts.at(-1)
    if (before?.isStressed === isStressed) before.text += text[at] ?? ''
    else parts.push({ at, text: text[at] ?? '', isStressed })
  }
  return parts.map((part) =>
    part.isStressed ? (
      <b key={part.at} className="font-semibold text-accent">
        {part.text}
      </b>
    ) : (
      <span key={part.at}>{part.text}</span>
    ),
  )
}
