import { nextSignal } from '../proxy-lines.js'
import type { RunStore } from '../run-store.js'
import { localHome } from '../ui/local-home.js'
import { openBrowser } from '../open-browser.js'
import { serveUi } from '../ui/serve-ui.js'

export interface ShownRun {
  readonly store: RunStore
  readonly run: string
  readonly step: string
}

/** Opens the viewer on a step and leaves it open until Ctrl-C. */
export async function showInViewer(
  { store, run, step }: ShownRun,
  say: (url: string) => void,
): Promise<void> {
  const home = localHome(store)
  const signal = nextSignal()
  const server = await serveUi(home, {
    port: undefined,
    host: undefined,
    passwordFile: undefined,
    allowHosts: [],
  })
  const url = server.link(`/runs/${encodeURIComponent(run)}?step=${encodeURIComponent(step)}`)
  say(url)
  await openBrowser(url)
  await signal
  await Promise.all([server.close(), home.close?.()])
}
