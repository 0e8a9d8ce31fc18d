import { getRouteApi } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { plural } from '@retake/tape/present'
import { useCommands } from '../commands/use-commands.js'
import { EmptyNote } from '../design/empty-note.js'
import { ErrorNote } from '../design/error-note.js'
import { Button } from '../design/button.js'
import { Select } from '../design/select.js'
import { Spinner } from '../design/spinner.js'
import { TextField } from '../design/text-field.js'
import { PageFrame } from '../shell/page-frame.js'
import { useHome } from '../sources/viewer-home.js'
import { CompareBar } from './compare-bar.js'
import { filterRuns } from './filter-runs.js'
import { NoRuns } from './no-runs.js'
import { RunsList } from './runs-list.js'
import { STATUS_FILTERS, type RunsSearch } from './runs-search.js'
import { useRuns } from './use-runs.js'

const route = getRouteApi('/')

/** All runs of the home, newest first. */
export function RunsPage() {
  const home = useHome()
  const runs = useRuns()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [chosen, setChosen] = useState<readonly string[]>([])
  const field = useRef<HTMLInputElement>(null)
  const filter = (next: RunsSearch): void => void navigate({ search: next, replace: true })
  const all = runs.data ?? []
  const shown = filterRuns(all, search)
  const [a, b] = chosen

  useCommands([
    {
      id: 'search',
      title: 'Filter the runs',
      group: 'Look',
      keys: ['/'],
      run: () => field.current?.focus(),
    },
    {
      id: 'runs.compare',
      title: 'Compare the two chosen runs',
      group: 'Change',
      keys: ['d'],
      disabled: b === undefined ? 'Two runs have to be chosen' : undefined,
      run: () => {
        if (a !== undefined && b !== undefined)
          void navigate({ to: '/compare/$a/$b', params: { a, b } })
      },
    },
  ])

  return (
    <PageFrame
      title={home.name}
      status={
        runs.data &&
        (shown.length < all.length
          ? `${shown.length} of ${plural(all.length, 'run')}`
          : plural(all.length, 'run'))
      }
    >
      <div className="flex h-full min-h-0 flex-col">
        {runs.error !== null && (
          <div className="p-3">
            <ErrorNote
              error={runs.error}
              actions={<Button onClick={() => void runs.refetch()}>Try again</Button>}
            />
          </div>
        )}
        {runs.isPending && (
          <p className="p-4">
            <Spinner label="Reading the runs…" />
          </p>
        )}
        {runs.data && all.length === 0 && <NoRuns />}
        {all.length > 0 && (
          <>
            <search className="flex shrink-0 items-center gap-2 border-b border-line px-3 py-1.5">
              <TextField
                ref={field}
                label="Filter runs by name, id or parent"
                hidesLabel
                type="search"
                placeholder="Name, id or parent"
                value={search.text ?? ''}
                onChange={(text) => filter({ ...search, text: text || undefined })}
                onKeyDown={(event) => {
                  if (event.key === 'Escape') event.currentTarget.blur()
                }}
                className="w-72 max-sm:min-w-0 max-sm:flex-1"
              />
              <Select
                label="Status"
                hidesLabel
                value={search.status ?? 'all'}
                options={[
                  { value: 'all', title: 'Any status' },
                  ...STATUS_FILTERS.map((value) => ({ value, title: value })),
                ]}
                onChange={(status) =>
                  filter({ ...search, status: status === 'all' ? undefined : status })
                }
              />
            </search>
            {shown.length === 0 ? (
              <EmptyNote title="No run matches.">
                <Button onClick={() => filter({})}>Show all {all.length}</Button>
              </EmptyNote>
            ) : (
              <RunsList
                runs={shown}
                chosen={chosen}
                onChoose={(run, isChosen) =>
                  setChosen((before) => {
                    const others = before.filter((each) => each !== run)
                    return isChosen ? [...others, run].slice(-2) : others
                  })
                }
              />
            )}
            <CompareBar chosen={chosen} onClear={() => setChosen([])} />
          </>
        )}
      </div>
    </PageFrame>
  )
}
