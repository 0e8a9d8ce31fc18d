import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Set by automation, where nobody would see a window. */
const AGENTS = ['CLAUDECODE', 'CURSOR_AGENT', 'CODEX_SANDBOX', 'AI_AGENT', 'GEMINI_CLI']
const REMOTE = ['SSH_CONNECTION', 'SSH_TTY']

/** Guesses whether this machine has a screen. */
export function hasScreen(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  const isSet = (name: string): boolean => !['', '0', 'false', undefined].includes(env[name])
  if (!isTerminal || isSet('CI') || [...AGENTS, ...REMOTE].some(isSet)) return false
  return (
    process.platform !== 'linux' ||
    isSet('DISPLAY') ||
    isSet('WAYLAND_DISPLAY') ||
    isSet('WSL_DISTRO_NAME')
  )
}

export function openerOf(platform: NodeJS.Platform, url: string): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open', url]
  // `start` is built into cmd. Its first quoted argument is a title, and & must be quoted.
  if (platform === 'win32') return ['cmd', '/c', 'start', '""', `"${url}"`]
  return ['xdg-open', url]
}

/** Opens an address if there is a screen. Failures are only noted. */
export async function openBrowser(url: string): Promise<void> {
  if (!hasScreen(process.env, process.stdout.isTTY)) return
  const [command, ...args] = openerOf(process.platform, url)
  const child = spawn(command, args, {
    stdio: 'ignore',
    detached: true,
    windowsVerbatimArguments: true,
  })
  child.unref()
  try {
    await once(child, 'spawn')
    child.on('exit', (code) => {
      if (code !== 0 && code !== null) note(`${command} ended with exit code ${code}`)
    })
  } catch (error) {
    note((error as Error).message)
  }
}

const note = (why: string): void => {
  process.stderr.write(`no browser was opened (${why}): open the address yourself\n`)
}
