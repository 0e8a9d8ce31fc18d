import { defined } from '@retake/tape'
import type { RunStore } from '@retake/runner/runs'
import { localRuns } from './local-runs.js'
import { nextSignal, loadViewerParts, usageError } from '@retake/runner/command-line'
import { readFileSync } from 'node:fs'
import type { RunRepository } from '../api/run-repository.js'
import { isLoopback, serveViewer, type ViewerServer } from '../api/serve-viewer.js'
import { cliErrors } from '@retake/runner/errors'

const FIRST_PORT = 4600
/** Number of ports to try after the default one. */
const MORE_PORTS = 20
const PASSWORD_MIN = 8

interface ServeUiOptions {
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly passwordFile?: string | undefined
  readonly allowHosts?: readonly string[]
  readonly editor?: string | undefined
}

const EDITORS: Readonly<Record<string, string>> = {
  vscode: 'vscode://file{file}:{line}:{column}',
  cursor: 'cursor://file{file}:{line}:{column}',
  windsurf: 'windsurf://file{file}:{line}:{column}',
  zed: 'zed://file{file}:{line}:{column}',
  idea: 'idea://open?file={file}&line={line}&column={column}',
}

/** Undefined on other hosts, because an editor opens files of its own machine. */
function editorAddress({
  editor = 'vscode',
  host,
}: Pick<ServeUiOptions, 'editor' | 'host'>): string | undefined {
  if (host !== undefined && !isLoopback(host)) return undefined
  const address = Object.hasOwn(EDITORS, editor) ? EDITORS[editor] : editor
  if (address === undefined || !/^[a-z][a-z\d+.-]*:.*\{file\}/.test(address))
    throw usageError(
      `Unknown editor \`${editor}\`.`,
      `Use ${Object.keys(EDITORS).join(', ')}, or an address with {file} and {line}.`,
    )
  return address
}

/** Serves the runs of a folder until the user stops it; `page` is the target of the link. */
export async function serveUntilSignal(
  store: RunStore,
  options: ServeUiOptions & {
    readonly page: string
    readonly onServed: (served: { url: string; port: number }) => void | Promise<void>
  },
): Promise<void> {
  const repository = localRuns(store, {
    editor: editorAddress(options),
    parts: await loadViewerParts(),
  })
  const signal = nextSignal()
  const server = await serveUi(repository, options)
  // Reads the list while the browser starts.
  if (options.page === '/') repository.runs().catch(() => {})
  await options.onServed({ url: server.link(options.page), port: server.port })
  await signal
  await Promise.all([server.close(), repository.close?.()])
}

async function serveUi(repository: RunRepository, options: ServeUiOptions): Promise<ViewerServer> {
  const { host, allowHosts = [] } = options
  const password = readPassword(options.passwordFile)
  const exposed = host !== undefined && !isLoopback(host) ? host : allowHosts[0]
  if (exposed !== undefined && password === undefined)
    throw cliErrors.UI_HOST_NEEDS_PASSWORD(exposed)
  const wanted = options.port
  const last = wanted ?? FIRST_PORT + MORE_PORTS
  for (let port = wanted ?? FIRST_PORT; ; port++) {
    try {
      return await serveViewer(repository, { ...defined({ host, password }), allowHosts, port })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && port < last) continue
      if (code === 'EADDRINUSE' || code === 'EACCES') throw cliErrors.UI_PORT_TAKEN(port, error)
      if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
        throw cliErrors.UI_HOST_UNKNOWN(host ?? '', error)
      throw error
    }
  }
}

/** Never an option, because other users of a machine can see arguments of a process. */
function readPassword(file: string | undefined): string | undefined {
  let password = process.env['RETAKE_PASSWORD']
  // Agents started from the viewer inherit the environment.
  delete process.env['RETAKE_PASSWORD']
  if (file !== undefined) {
    try {
      ;[password] = readFileSync(file, 'utf8').split(/\r?\n/)
    } catch (error) {
      throw cliErrors.UI_PASSWORD_UNREADABLE(file, error)
    }
  } else if (!password) return undefined
  if (password === undefined || password.length < PASSWORD_MIN)
    throw cliErrors.UI_PASSWORD_TOO_SHORT(file ?? 'RETAKE_PASSWORD', PASSWORD_MIN)
  return password
}
