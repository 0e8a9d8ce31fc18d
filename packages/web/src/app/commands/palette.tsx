import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import { useEarlyFocus, type EarlyFocus } from '../design/use-early-focus.js'
import { useOpenRun } from '../shell/open-run.js'
import { useHome } from '../sources/viewer-home.js'
import { keysOf, useKeySettings } from './key-settings.js'
import { commandItems, runItems, stepItems, type PaletteItem } from './palette-items.js'
import { PaletteList } from './palette-list.js'
import { useAllCommands } from './use-commands.js'

export interface PaletteProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Finds everything that can be done, every run and every step, by a few letters. */
export function Palette({ isOpen, onClose }: PaletteProps) {
  const chosen = useRef<PaletteItem>(undefined)
  const { take, back } = useEarlyFocus()
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(open) => !open && onClose()}
      onOpenChangeComplete={(open) => {
        // What was chosen begins when the focus is back where it was: it may open a dialog itself.
        const item = chosen.current
        chosen.current = undefined
        if (!open) item?.run()
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Dialog.Popup
          aria-label="Commands"
          finalFocus={back}
          className="fixed inset-0 z-40 flex flex-col bg-surface text-text outline-none sm:inset-auto sm:top-[10vh] sm:left-1/2 sm:max-h-[70vh] sm:w-[calc(100vw-2rem)] sm:max-w-150 sm:-translate-x-1/2 sm:rounded-md sm:border sm:border-line-strong sm:shadow-lg"
        >
          <Finder
            takeFocus={take}
            onChoose={(item) => {
              chosen.current = item
              onClose()
            }}
          />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface FinderProps {
  readonly takeFocus: EarlyFocus['take']
  readonly onChoose: (item: PaletteItem) => void
}

function Finder({ takeFocus, onChoose }: FinderProps) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const { items, isPartial } = useItems(useDeferredValue(query))
  const place = Math.min(at, items.length - 1)

  const press = (event: KeyboardEvent): void => {
    const last = items.length - 1
    const next = {
      ArrowDown: place >= last ? 0 : place + 1,
      ArrowUp: place <= 0 ? last : place - 1,
      PageDown: Math.min(last, place + 8),
      PageUp: Math.max(0, place - 8),
    }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      setAt(next)
    }
    const item = items[place]
    if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      if (item !== undefined && item.disabled === undefined) onChoose(item)
    }
  }

  return (
    <>
      <div className="flex shrink-0 items-center border-b border-line">
        <input
          ref={takeFocus}
          role="combobox"
          aria-label="Find a command, a run or a step"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={place >= 0 ? `palette-${place}` : undefined}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder="Command, run, or step by number or title"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value)
            setAt(0)
          }}
          onKeyDown={press}
          className="h-11 min-w-0 flex-1 bg-transparent px-4 text-lg focus-visible:outline-none"
        />
        <Dialog.Close className="mr-2 h-7 rounded px-2 text-muted hover:bg-sunken sm:hidden">
          Close
        </Dialog.Close>
      </div>
      <PaletteList items={items} at={place} onChoose={onChoose} />
      {isPartial && (
        <p className="shrink-0 border-t border-line px-4 py-1.5 text-sm text-muted">
          There are too many steps to look at all their titles here; search (/) finds all.
        </p>
      )}
    </>
  )
}

function useItems(query: string): { items: readonly PaletteItem[]; isPartial: boolean } {
  const home = useHome()
  const run = useOpenRun()
  const navigate = useNavigate()
  const [settings] = useKeySettings()
  const runs = useQuery({
    queryKey: ['runs'],
    queryFn: () => home.runs(),
    enabled: home.onlyRun === undefined,
  })
  const commands = useAllCommands()
  const known = runs.data
  // Not again for every arrow key: there may be 100,000 steps to look at.
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
    const done = commandItems(query, commands, (command) => keysOf(command, settings))
    const steps =
      run === undefined ? { items: [], isPartial: false } : stepItems(query, run.rows, toStep)
    const others = runItems(query, known ?? [], toRun)
    return {
      items: /^\d/.test(query.trim())
        ? [...steps.items, ...done, ...others]
        : [...done, ...steps.items, ...others],
      isPartial: steps.isPartial,
    }
  }, [query, commands, settings, run, known, navigate])
}
