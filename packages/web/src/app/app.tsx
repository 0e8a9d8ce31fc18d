import './shell/theme.js'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createBrowserHistory,
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { listenToKeys } from './commands/listen-to-keys.js'
import { GalleryPage } from './design/gallery-page.js'
import { RunPage } from './run/run-page.js'
import { readRunSearch } from './run/run-search.js'
import { RunsPage } from './runs/runs-page.js'
import { Shell } from './shell/shell.js'
import { HomeProvider, type ViewerHome } from './sources/viewer-home.js'
import './design/tokens.css'

const root = createRootRoute({ component: Shell })
const runs = createRoute({ getParentRoute: () => root, path: '/', component: RunsPage })
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$run',
  component: RunPage,
  validateSearch: readRunSearch,
})

const gallery = createRoute({
  getParentRoute: () => root,
  path: '/components',
  component: GalleryPage,
})

const makeRouter = (home: ViewerHome) =>
  createRouter({
    routeTree: root.addChildren([runs, run, gallery]),
    history: home.onlyRun === undefined ? createBrowserHistory() : createHashHistory(),
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

/** Puts the viewer on the page. */
export function startViewer(home: ViewerHome): void {
  const place = document.getElementById('root')
  if (place === null) throw new Error('the page has no #root')
  const client = new QueryClient({
    defaultOptions: { queries: { staleTime: Infinity, retry: false, networkMode: 'always' } },
  })
  const router = makeRouter(home)
  listenToKeys()
  if (home.onlyRun !== undefined && router.history.location.pathname === '/')
    router.history.replace(`/runs/${encodeURIComponent(home.onlyRun)}`)
  createRoot(place).render(
    <StrictMode>
      <HomeProvider value={home}>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </HomeProvider>
    </StrictMode>,
  )
}
