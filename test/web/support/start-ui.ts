import type { ChildProcess } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { startUi as start } from '../../../scripts/start-ui.mjs'

export interface Ui {
  /** Where the viewer is, with the token: a browser that was there once is let in from then on. */
  readonly url: string
  /** The same for one of its pages, for example `/runs/x?step=3`. */
  at(page: string): string
  /** For requests that no browser makes: `Authorization: Bearer <token>`. */
  readonly token: string
  readonly process: ChildProcess
  stop(): Promise<void>
}

interface UiOptions {
  /** Any free one when not given. */
  port?: number
  args?: readonly string[]
  env?: Record<string, string>
  /** Another version of Node. */
  node?: string
}

/** Starts the real `retake ui` in a folder, on a free port, and stops it when the test is over. */
export async function startUi(folder: string, options?: UiOptions): Promise<Ui> {
  const ui = await launchUi(folder, options)
  onTestFinished(() => ui.stop())
  return ui
}

/** The same for several tests; whoever starts it stops it. */
export async function launchUi(folder: string, options: UiOptions = {}): Promise<Ui> {
  const ui = await start(folder, options)
  return { ...ui, ...addressesOf(ui.url) }
}

/** Addresses of a viewer, from the one that it prints. */
export function addressesOf(url: string): Pick<Ui, 'url' | 'at' | 'token'> {
  const token = new URL(url).searchParams.get('token') ?? ''
  const at = (page: string): string => {
    const address = new URL(page, url)
    if (token !== '') address.searchParams.set('token', token)
    return address.href
  }
  return { url, at, token }
}
