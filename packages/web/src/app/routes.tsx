import { createRootRoute, createRoute } from '@tanstack/react-router'
import { latePart } from './design/late-part.js'
import { RunPage } from './run/run-page.js'
import { readRunSearch } from './run/use-selection.js'
import { RunsPage } from './runs/runs-page.js'
import { readRunsSearch } from './runs/runs-search.js'
import { SearchHost } from './search/search-dialog.js'
import { readSearchQuery } from './search/search-store.js'
import { FailedPage, NotFoundPage } from './shell/failed-page.js'
import { Shell } from './shell/shell.js'

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  errorComponent: FailedPage,
})

const runs = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: RunsPage,
  validateSearch: readRunsSearch,
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$run',
  component: () => (
    <>
      <RunPage />
      <SearchHost />
    </>
  ),
  validateSearch: (search: Record<string, unknown>) => ({
    ...readRunSearch(search),
    ...readSearchQuery(search),
  }),
})

/** Only in the live build; a report does not contain these pages. */
const branches = createRoute({
  getParentRoute: () => root,
  path: '/runs/$run/branches',
  component:
    __REPOSITORY__ === 'live'
      ? latePart(async () => (await import('./branches/branches-page.js')).BranchesPage)
      : NotFoundPage,
})

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare/$a/$b',
  component:
    __REPOSITORY__ === 'live'
      ? latePart(async () => (await import('./compare/compare-page.js')).ComparePage)
      : NotFoundPage,
})

export const routes = root.addChildren([runs, run, branches, compare])
