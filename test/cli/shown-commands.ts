import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Finished } from '../support/run-retake.mjs'
import { cli } from './workspace.js'

/** Every command of `retake` in a text, each once: after `$`, alone on a line, or after ` next `. */
export function commandsIn(text: string): string[] {
  const joined = text.replaceAll(/\\\n\s+/g, '')
  const found = [...joined.matchAll(/^ *(?:\$ |next +|undo +|fix +|\S.* · |`)?(retake [^`\n]*)/gm)]
  // A listed command is followed by what it does.
  return [...new Set(found.map(([, command = '']) => command.split(/ {2,}/)[0]!.trim()))]
}

/** Runs a command line as a user would: in a new shell, in this folder, without variables of the demo. */
export function inShell(
  folder: string,
  command: string,
  env: Readonly<Record<string, string>> = {},
): Pick<Finished, 'stdout' | 'stderr' | 'code'> {
  const programs = join(folder, '..', 'programs')
  mkdirSync(programs, { recursive: true })
  const program = join(programs, 'retake')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`)
  chmodSync(program, 0o755)
  const { MODEL_URL: _url, ...own } = process.env
  const { stdout, stderr, status } = spawnSync('/bin/sh', ['-c', command], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 240_000,
    env: {
      ...own,
      NO_COLOR: '1',
      ...env,
      PATH: [programs, env['PATH'] ?? own['PATH']].join(delimiter),
    },
  })
  return { stdout, stderr, code: status }
}

/** The same on a terminal with this many columns. Its streams arrive as one. */
export const onTerminal = (folder: string, command: string, columns: number) =>
  inShell(folder, `script -qec 'stty cols ${columns} rows 40; ${command}' /dev/null`)
