import fs from 'node:fs'
import path from 'node:path'
import { natives } from '../../kernel/natives.js'
import { TASK_VARIABLE } from '../../plans/process-task.js'
import type { Session } from '../../kernel/session.js'

/** Captured before the file boundary is patched. */
const { mkdirSync, writeFileSync } = fs

/** Flags that load Retake into this process. */
let ownFlags: readonly string[] = []

/** Hides Retake's own flags, which come last, from the agent. Recorded children get them again. */
export function takeOwnFlags(count: number): void {
  ownFlags = process.execArgv.splice(process.execArgv.length - count)
}

interface Started {
  readonly file: string
  /** Including the program name, as Node passes them down. */
  readonly args?: readonly string[]
  readonly envPairs?: readonly string[]
}

/** The command with the Retake preload added, if the session returns a task for it. */
export function withChildTask<S extends Started>(session: Session, op: number, started: S): S {
  const [name = started.file, ...words] = started.args ?? []
  const at =
    started.file === process.execPath || /^node(js)?(\.exe)?$/.test(path.basename(started.file))
      ? entryAt(words)
      : undefined
  const entry = at === undefined ? undefined : words[at]
  if (at === undefined || entry === undefined) return started
  const child = session.childTask?.(op, { entry, args: words.slice(at + 1) })
  if (child === undefined) return started
  mkdirSync(path.dirname(child.tape), { recursive: true })
  const task = JSON.stringify({ ...child.task, flagCount: ownFlags.length })
  const file = child.tape.replace(/\.tape$/, '.task.json')
  const isLong = task.length > VARIABLE_LENGTH
  if (isLong) writeFileSync(file, task, { mode: 0o600 })
  return {
    ...started,
    args: [name, ...words.slice(0, at), ...ownFlags, ...words.slice(at)],
    envPairs: [
      ...withVariables(started.envPairs ?? [], child.variables ?? {}),
      `${TASK_VARIABLE}=${isLong ? `@${file}` : task}`,
    ],
  }
}

/** Linux limits one variable to 128 kB. */
const VARIABLE_LENGTH = 30_000

export function splitPair(pair: string): [name: string, value: string] {
  const equals = pair.indexOf('=', 1)
  return [pair.slice(0, equals), pair.slice(equals + 1)]
}

function withVariables(
  pairs: readonly string[],
  variables: Readonly<Record<string, string>>,
): string[] {
  const env = new Map(pairs.map(splitPair))
  for (const [name, value] of Object.entries(variables)) {
    const given = env.get(name)
    if (given === undefined || given === natives.env[name]) env.set(name, value)
  }
  return [...env].map(([name, value]) => `${name}=${value}`)
}

/** Flags of Node that are followed by a value. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  '-r',
  '--require',
  '--import',
  '--loader',
  '--experimental-loader',
  '-C',
  '--conditions',
])
/** Flags with which Node runs no file. */
const WITHOUT_FILE = /^(-[ceip]+|-|--(eval|print|check|test|interactive|run|watch)(=.*)?)$/

/** Index of the program file among Node's arguments; undefined if there is none. */
function entryAt(words: readonly string[]): number | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (WITHOUT_FILE.test(word)) return undefined
    if (!word.startsWith('-')) return at
    if (WITH_VALUE.has(word)) at++
  }
  return undefined
}
