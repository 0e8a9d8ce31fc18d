import { Dialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState, type KeyboardEvent } from 'react'
import { ErrorNote } from '../design/error-note.js'
import { IconButton } from '../design/icon-button.js'
import { CloseIcon } from '../design/icons.js'
import { useEarlyFocus, type EarlyFocus } from '../design/use-early-focus.js'
import { SearchProgressLine } from './search-progress-line.js'
import { SearchResults } from './search-results.js'
import { useSearchState, type useSearch } from './use-search.js'

export interface SearchDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly search: ReturnType<typeof useSearch>
}

/** Where one types what to search for, and sees what is found while it is found. */
export function SearchDialog({ isOpen, onClose, search }: SearchDialogProps) {
  const { take, back } = useEarlyFocus()
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Dialog.Popup
          aria-label="Search this run"
          finalFocus={back}
          className="fixed inset-0 z-40 flex flex-col bg-surface text-text outline-none sm:inset-auto sm:top-[8vh] sm:left-1/2 sm:h-[80vh] sm:w-[calc(100vw-2rem)] sm:max-w-240 sm:-translate-x-1/2 sm:rounded-md sm:border sm:border-line-strong sm:shadow-lg"
        >
          <Searching search={search} onClose={onClose} takeFocus={take} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface SearchingProps extends Omit<SearchDialogProps, 'isOpen'> {
  readonly takeFocus: EarlyFocus['take']
}

/** Rest between two letters before the search begins. */
const REST_MS = 150

function Searching({ search, onClose, takeFocus }: SearchingProps) {
  const [text, setText] = useState(search.q)
  const state = useSearchState()
  const [at, setAt] = useState(Math.max(0, state.at))
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const last = state.hits.length - 1
  const place = Math.min(at, last)

  const type = (next: string): void => {
    setText(next)
    setAt(0)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => search.ask(next), REST_MS)
  }
  const open = (hit: number): void => {
    if (hit < 0 || hit > last) return
    search.go(hit)
    onClose()
  }
  const press = (event: KeyboardEvent): void => {
    const next = {
      ArrowDown: Math.min(last, place + 1),
      ArrowUp: Math.max(0, place - 1),
      PageDown: Math.min(last, place + 12),
      PageUp: Math.max(0, place - 12),
    }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      setAt(next)
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      if (text === state.query) open(place)
      else {
        clearTimeout(timer.current)
        search.ask(text)
      }
    }
  }

  return (
    <>
      <div className="flex shrink-0 items-center gap-1 border-b border-line pr-2">
        <input
          ref={takeFocus}
          role="combobox"
          aria-label="Search messages, arguments, results, headers, errors, output and files"
          aria-expanded="true"
          aria-controls="search-hits"
          aria-activedescendant={place >= 0 ? `search-hit-${place}` : undefined}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder="Search everything in this run"
          value={text}
          onChange={(event) => type(event.target.value)}
          onKeyDown={press}
          className="h-11 min-w-0 flex-1 bg-transparent px-4 text-lg focus-visible:outline-none"
        />
        <IconButton label="Close" icon={<CloseIcon />} onClick={onClose} />
      </div>
      {state.error !== undefined && (
        <div className="shrink-0 p-3">
          <ErrorNote error={state.error} />
        </div>
      )}
      <SearchResults state={state} rows={search.rows} at={place} onOpen={open} />
      <SearchProgressLine state={state} at={place} />
    </>
  )
}
