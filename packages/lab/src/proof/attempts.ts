import path from 'node:path'
import { diffLines } from '@retake/tape/present'
import type { FileEdit } from './candidates.js'
import { isProtected } from './protected-files.js'
import { ParsedSource } from './source-text.js'
import { ALL_VARIABLES, type Attempt, type Use } from './uses.js'

export interface TrialUses {
  readonly uses: readonly Use[]
  readonly edits: readonly FileEdit[]
  /** Folders that are the project for the program: the copy, and where it was recorded. */
  readonly folders: readonly string[]
  /** Keys of the uses of the unchanged code: see `useKey`. */
  readonly baseline: ReadonlySet<string>
  /** Code of the project before the change, and values of its variables. */
  readonly knownText: string
  /** Addresses on the tape, as `host:port` and as `host`. */
  readonly hosts: ReadonlySet<string>
}

/**
 * The uses that are due to a change: the changed lines are on the stack, and neither the unchanged
 * code in a trial, nor its text, nor the tape has the same target. A use without any line of the
 * project, such as a native function passed to a timer, counts as well.
 */
export function attemptsOf(trial: TrialUses): Attempt[] {
  const { uses, edits, baseline } = trial
  const changed = new Map(
    edits.map(({ path: file, before = '', after }) => [
      path.normalize(file),
      changedLineNumbers(before, after),
    ]),
  )
  const isChanged = (site: string): boolean => {
    const [, file = '', line] = /^(.*):(\d+):\d+$/.exec(site) ?? []
    const inside = insideOf(file, trial.folders)
    return inside !== undefined && changed.get(inside)?.has(Number(line)) === true
  }
  const isDueToChange = ({ code, sites, nearest }: Use): boolean =>
    code === 'READ_VARIABLE'
      ? nearest === 'agent' && sites[0] !== undefined && isChanged(sites[0])
      : sites.some(isChanged) || nearest === undefined
  const groups = new Map<string, Use[]>()
  for (const use of uses) groups.set(useKey(use), [...(groups.get(useKey(use)) ?? []), use])
  const found = new Map<string, Attempt>()
  for (const [key, group] of groups) {
    const [use] = group
    const isListed = use?.code === 'READ_VARIABLE' && baseline.has(ALL_READ)
    if (use === undefined || isListed || baseline.has(key) || !group.every(isDueToChange)) continue
    const attempt = attemptOf(use, trial)
    if (attempt !== undefined) found.set(useKey(attempt), attempt)
  }
  const attempts = [...found.values()]
  // Who lists all variables reads each.
  const listsAll = attempts.some(({ what }) => what === ALL_VARIABLES)
  return attempts.filter(
    ({ code, what }) => !listsAll || code !== 'READ_VARIABLE' || what === ALL_VARIABLES,
  )
}

export const useKey = ({ code, what }: Pick<Attempt, 'code' | 'what'>): string => `${code} ${what}`

const ALL_READ = useKey({ code: 'READ_VARIABLE', what: ALL_VARIABLES })

function attemptOf({ code, what }: Use, trial: TrialUses): Attempt | undefined {
  const { folders, hosts, knownText } = trial
  const isKnown = (text: string): boolean => isWordOf(knownText, text)
  switch (code) {
    case 'WRITE': {
      const inside = insideOf(what, folders)
      if (inside !== undefined) {
        const relative = inside.replaceAll('\\', '/')
        return isProtected(relative) ? { code: 'WRITE_PROTECTED', what: relative } : undefined
      }
      return what.split(/[\\/]+/).every((part) => part === '' || isKnown(part))
        ? undefined
        : { code, what }
    }
    case 'SPAWN':
      return what.split(/\s+/).every(isKnown) ? undefined : { code, what }
    case 'CONNECT':
      return hosts.has(what) || what.split(/:(?=\d+$)/).every(isKnown) ? undefined : { code, what }
    case 'LISTEN':
    case 'READ_VARIABLE':
      return isKnown(what.replace(/^port /, '')) ? undefined : { code, what }
  }
}

/** True if a text has a word, a path or a number as a whole. */
function isWordOf(text: string, word: string): boolean {
  if (word === '') return false
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!WORD.test(text[at - 1] ?? '') && !WORD.test(text[at + word.length] ?? '')) return true
  return false
}

const WORD = /[\w$]/

/** Path relative to the first of the folders that contains it. */
function insideOf(file: string, folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    const relative = path.relative(folder, file)
    if (relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative)) return relative
  }
  return undefined
}

function changedLineNumbers(before: string, after: string): ReadonlySet<number> {
  return new Set(
    diffLines(before, after).flatMap(({ kind, b }) => (kind === 'same' || !b ? [] : [b.number])),
  )
}

/**
 * Variables without a value that the project itself reads and cannot do without. Reads by packages,
 * and those with a default or in a condition, do not count.
 */
export function missingVariables(
  uses: readonly Use[],
  sources: readonly { readonly path: string; readonly text: string }[],
): string[] {
  const unset = uses.filter(
    ({ code, isUnset, nearest }) =>
      code === 'READ_VARIABLE' && isUnset === true && nearest === 'agent',
  )
  if (unset.length === 0) return []
  const needed = new Set(sources.flatMap(neededVariables))
  return [...new Set(unset.map(({ what }) => what))].filter((name) => needed.has(name))
}

/** Names in `process.env.NAME` where nothing else is used if it is not set. */
function neededVariables(file: { readonly path: string; readonly text: string }): string[] {
  const source = file.text.includes('process.env') ? ParsedSource.tryParse(file) : undefined
  if (source === undefined || !source.isCode) return []
  const read = source
    .ofType('MemberExpression', 'OptionalMemberExpression')
    .filter(({ object }) => object?.text === 'process.env')
    .filter((node) => {
      const { parent } = node
      const isTest = parent?.child('test') === node
      const isLeft = parent?.type === 'LogicalExpression' && parent.child('left') === node
      const isCompared = /^(?:Unary|Binary)Expression$/.test(parent?.type ?? '') && !isAdded(parent)
      const isSet = parent?.type === 'AssignmentExpression' && parent.child('left') === node
      return !isTest && !isLeft && !isCompared && !isSet
    })
    .flatMap((node) => node.name ?? node.child('property')?.name ?? [])
  const unpacked = source
    .ofType('VariableDeclarator')
    .filter((node) => node.child('init')?.text === 'process.env')
    .flatMap((node) => node.child('id')?.children('properties') ?? [])
    .filter((property) => property.child('value')?.type === 'Identifier')
    .flatMap((property) => property.child('key')?.name ?? [])
  return [...read, ...unpacked]
}

const isAdded = (node: { readonly raw: Readonly<Record<string, unknown>> } | undefined): boolean =>
  node?.raw['operator'] === '+'

/** Names of the variables that code reads from `process.env`, to give them to a trial. */
export function namedVariables(text: string): ReadonlySet<string> {
  const single = [...text.matchAll(/process\.env(?:\??\.|\[['"`])(\w+)/g)]
  const unpacked = [...text.matchAll(/\{([^{}]*)\}\s*=\s*process\.env\b/g)]
  return new Set([
    ...single.flatMap(([, name]) => name ?? []),
    ...unpacked.flatMap(([, list = '']) =>
      list.split(',').flatMap((part) => /^\s*(\w+)/.exec(part)?.[1] ?? []),
    ),
  ])
}
