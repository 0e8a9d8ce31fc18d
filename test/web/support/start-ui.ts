import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const cli = fileURLToPath(new URL('../../../packages/cli/bin/retake.mjs', import.meta.url))

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
  args?: readonly string[]
  env?: Record<string, string>
}

/** Starts the real `retake ui` in a folder, on a free port, and stops it when the test is over. */
export async function startUi(folder: string, options?: UiOptions): Promise<Ui> {
  const ui = await launchUi(folder, options)
  onTestFinished(() => ui.stop())
  return ui
}

/** The same for several tests; whoever starts it stops it. */
export async function launchUi(
  folder: string,
  { args = [], env = {} }: UiOptions = {},
): Promise<Ui> {
  const child = spawn(
    process.execPath,
    [cli, 'ui', '--port', '0', '--no-open', '--json', ...args],
    {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    child.kill('SIGINT')
    await ended
  }
  const { url } = JSON.parse(line) as { url: string }
  const token = new URL(url).searchParams.get('token') ?? ''
  const at = (page: string): string => {
    const address = new URL(page, url)
    if (token !== '') address.searchParams.set('token', token)
    return address.href
  }
  return { url, at, token, process: child, stop }
}
