import type { Probe } from '@retake/engine/inspect'
import { wrongUsage } from './errors/command-line.js'
import { inspectorNotOpened } from './errors/inspect.js'

/** Where Chrome looks for processes by itself. */
export const INSPECTOR_PORT = 9229

/** The port of `--inspect[=port]`; 0 is any that is free. */
export function inspectorPort(text: string): number {
  const port = text === '' ? INSPECTOR_PORT : Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65536) return port
  throw wrongUsage('replay', `"${text}" is not a port.`, 'A port is a number up to 65535.')
}

/** Opens the inspector of a stopped replay; answers with its address. */
export async function openInspector(probe: Probe, port: number): Promise<URL> {
  const url = await probe.openInspector(port)
  if (!url) throw inspectorNotOpened(port)
  return new URL(url)
}

/** What to do to look at the held process with a debugger. */
export function inspectorLines(url: URL, cwd: string): string[] {
  const configuration = {
    type: 'node',
    request: 'attach',
    name: 'Retake',
    address: url.hostname,
    port: Number(url.port),
    cwd,
    skipFiles: ['<node_internals>/**', '**/node_modules/**'],
  }
  return [
    `The program is held there. Debugger: ${url.href}`,
    '',
    `Chrome   open chrome://inspect, choose Configure…, add ${url.host}, then inspect`,
    'VS Code  put this into configurations of .vscode/launch.json, then Run > Start Debugging:',
    ...JSON.stringify(configuration, undefined, 2)
      .split('\n')
      .map((line) => `         ${line}`),
    '',
    'It runs on to its end when the debugger resumes it; Ctrl-C ends it.',
  ]
}
