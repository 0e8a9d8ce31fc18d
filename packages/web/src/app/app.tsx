import './shell/theme.js'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createBrowserHistory,
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
  useNavigate,
} from '@tanstack/react-router'
import { StrictMode, useState } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { listenToKeys, useCommands } from './commands/commands.js'
import { HelpDialog } from './commands/help-dialog.js'
import { Palette } from './commands/palette.js'
import { lazyPart } from './design/lazy-part.js'
import { Toasts } from './design/toast.js'
import { RunPage } from './run/run-page.js'
import { readRunSearch } from './run/data/use-selection.js'
import { RunsPage } from './runs/runs-page.js'
import { readRunsSearch } from './runs/runs-search.js'
import { SearchHost } from './search/search-dialog.js'
import { readSearchQuery } from './search/search-store.js'
import { readAddress, viewerBase, writeAddress } from './sources/address.js'
import { FailedPage, FailedStart, NotFoundPage } from './shell/failed-page.js'
import { useTheme } from './shell/theme.js'
import { BackendProvider, useBackend, type ViewerBackend } from './sources/backend.js'
import './design/tokens.css'

function Shell() {
  const [open, setOpen] = useState<'palette' | 'help'>()
  const [, setTheme] = useTheme()
  const backend = useBackend()
  const navigate = useNavigate()
  const close = (): void => setOpen(undefined)
  useCommands((add) => {
    const find = { keys: ['Mod+k'], inDialogs: true }
    add('View', 'palette', 'Find a command, run or step', find, () =>
      setOpen(open === 'palette' ? undefined : 'palette'),
    )
    const help = { keys: ['?'], words: 'help shortcuts settings' }
    add('View', 'help', 'Show all keys', help, () => setOpen('help'))
    add('View', 'theme.light', 'Light theme', [], () => setTheme('light'))
    add('View', 'theme.dark', 'Dark theme', [], () => setTheme('dark'))
    add('View', 'theme.system', 'System theme', [], () => setTheme('system'))
    if (backend.onlyRun === undefined)
      add('Move', 'runs', 'Go to all runs', [], () => void navigate({ to: '/' }))
  })
  return (
    <CSPProvider disableStyleElements>
      <Outlet />
      <Palette isOpen={open === 'palette'} onClose={close} />
      <HelpDialog isOpen={open === 'help'} onClose={close} />
      <Toasts />
    </CSPProvider>
  )
}

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

/** Only in the live build. Reports do not contain these pages. */
const branches = createRoute({
  getParentRoute: () => root,
  path: '/runs/$run/branches',
  component:
    __REPOSITORY__ === 'live'
      ? lazyPart(async () => (await import('./branches/branches-page.js')).BranchesPage)
      : NotFoundPage,
})

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare/$a/$b',
  component:
    __REPOSITORY__ === 'live'
      ? lazyPart(async () => (await import('./compare/compare-page.js')).ComparePage)
      : NotFoundPage,
})

const routes = root.addChildren([runs, run, branches, compare])

const makeRouter = (backend: ViewerBackend) =>
  createRouter({
    routeTree: routes,
    basepath: viewerBase(),
    history: backend.onlyRun === undefined ? createBrowserHistory() : createHashHistory(),
    parseSearch: readAddress,
    stringifySearch: writeAddress,
    defaultErrorComponent: FailedPage,
    defaultNotFoundComponent: NotFoundPage,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

export function startViewer(backend: ViewerBackend | Promise<ViewerBackend>): void {
  const index = document.getElementById('root')
  if (index === null) throw new Error('the page has no #root')
  const page = createRoot(index)
  Promise.resolve(backend).then(
    (opened) => showViewer(page, opened),
    (error: unknown) => page.render(<FailedStart error={error} />),
  )
}

function showViewer(page: Root, backend: ViewerBackend): void {
  const client = new QueryClient({
    defaultOptions: {
      queries: { staleTime: Infinity, retry: false, networkMode: 'always' },
      mutations: { networkMode: 'always' },
    },
  })
  const router = makeRouter(backend)
  listenToKeys()
  if (backend.onlyRun !== undefined && router.history.location.pathname === '/')
    router.history.replace(`/runs/${encodeURIComponent(backend.onlyRun)}`)
  page.render(
    <StrictMode>
      <BackendProvider value={backend}>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </BackendProvider>
    </StrictMode>,
  )
}
