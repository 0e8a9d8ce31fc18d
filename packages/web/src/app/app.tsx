import './shell/theme.js'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createBrowserHistory,
  createHashHistory,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { listenToKeys } from './commands/listen-to-keys.js'
import { routes } from './routes.js'
import { readAddress, writeAddress } from './shell/address.js'
import { FailedPage } from './shell/failed-page.js'
import { FailedStart } from './shell/failed-start.js'
import { NotFoundPage } from './shell/not-found-page.js'
import { HomeProvider, type ViewerHome } from './sources/viewer-home.js'
import './design/tokens.css'

const makeRouter = (home: ViewerHome) =>
  createRouter({
    routeTree: routes,
    history: home.onlyRun === undefined ? createBrowserHistory() : createHashHistory(),
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

/** Puts the viewer on the page; when its home cannot be opened, the page says why. */
export function startViewer(home: ViewerHome | Promise<ViewerHome>): void {
  const place = document.getElementById('root')
  if (place === null) throw new Error('the page has no #root')
  const page = createRoot(place)
  Promise.resolve(home).then(
    (opened) => showHome(page, opened),
    (error: unknown) => page.render(<FailedStart error={error} />),
  )
}

function showHome(page: Root, home: ViewerHome): void {
  const client = new QueryClient({
    defaultOptions: { queries: { staleTime: Infinity, retry: false, networkMode: 'always' } },
  })
  const router = makeRouter(home)
  listenToKeys()
  if (home.onlyRun !== undefined && router.history.location.pathname === '/')
    router.history.replace(`/runs/${encodeURIComponent(home.onlyRun)}`)
  page.render(
    <StrictMode>
      <HomeProvider value={home}>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </HomeProvider>
    </StrictMode>,
  )
}
