import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useCommands } from '../commands/use-commands.js'
import { showToast } from '../design/toast.js'
import { SearchDialog } from './search-dialog.js'
import { useSearch, useSearchState } from './use-search.js'

const route = getRouteApi('/runs/$run')

/** Search over everything in the run: its key, its dialog, and moving on to the next hit without it. */
export function SearchHost() {
  const { q, step } = route.useSearch()
  // A link to a search alone shows what it finds; a link to a step shows the step.
  const [isOpen, setIsOpen] = useState(() => q !== undefined && step === undefined)
  const search = useSearch()
  const { hits, at, isDone } = useSearchState()
  const none =
    search.q === ''
      ? 'Nothing is searched for'
      : hits.length === 0 && isDone
        ? 'Nothing was found'
        : undefined

  const move = (by: 1 | -1): void => {
    const next = at + by
    if (next < 0 || next >= hits.length) {
      const place = next < 0 ? 'first' : isDone ? 'last' : 'last so far'
      showToast(`That was the ${place} of ${hits.length} hits.`)
    } else search.go(next)
  }
  useCommands([
    {
      id: 'search',
      title: 'Search everything in this run',
      group: 'Look',
      keys: ['/', 'Mod+Shift+f'],
      words: 'find text',
      run: () => setIsOpen(true),
    },
    {
      id: 'search.next',
      title: 'Next hit of the search',
      group: 'Move',
      keys: ['n'],
      disabled: none,
      run: () => move(1),
    },
    {
      id: 'search.previous',
      title: 'Previous hit of the search',
      group: 'Move',
      keys: ['N'],
      disabled: none,
      run: () => move(-1),
    },
    {
      id: 'search.clear',
      title: 'End the search',
      group: 'Look',
      keys: [],
      disabled: search.q === '' ? 'Nothing is searched for' : undefined,
      run: () => search.ask(''),
    },
  ])
  return <SearchDialog isOpen={isOpen} onClose={() => setIsOpen(false)} search={search} />
}
