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
import { listenToKeys } from './commands/commands.js'
import { routes } from './routes.js'
import { readAddress, viewerBase, writeAddress } from './shell/address.js'
import { FailedPage, FailedStart, NotFoundPage } from './shell/failed-page.js'
import { BackendProvider, type ViewerBackend } from './sources/backend.js'
import './design/tokens.css'

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
