import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'
import { packageNames } from '../scripts/run-command.mjs'

/** A word that names too many ideas, or none, and the words to write instead. */
interface RetiredWord {
  readonly forms: RegExp
  readonly instead: string
}

/** The words of an identifier are its parts in camelCase, PascalCase, kebab-case or CONSTANT_CASE. */
const retired: Readonly<Record<string, RetiredWord>> = {
  place: {
    forms: /^(place|places|placed|nowhere|whereis)$/,
    instead: 'scope, permit, path, anchor, location, index, endpoint or position',
  },
  keep: {
    forms: /^(keep|keeps|keeping|keeper|kept)$/,
    instead: 'pinned (a step in blame), attachment (on a tape), cached, retained',
  },
  hold: {
    forms: /^(hold|holds|holding|holder|held|withheld)$/,
    instead: 'paused, pinned, buffered, locked',
  },
  tell: {
    forms: /^(tell|tells|telling|told|untold)$/,
    instead: 'report, notify, serialize, describe, unknown',
  },
  ask: {
    forms: /^(ask|asks|asking|asked|question|questions)$/,
    instead: 'request, prompt, check, query',
  },
  home: {
    forms: /^(home|homes)$/,
    instead: 'run repository, package root, home directory',
  },
  door: { forms: /^(door|doors)$/, instead: 'platform, entry point' },
  carry: {
    forms: /^(carry|carries|carrying|carried)$/,
    instead: 'execute, hand over, bind',
  },
  traveller: {
    forms: /^(traveller|travellers|fleet)$/,
    instead: 'ActiveProbe, ProbePool',
  },
  standing: { forms: /^(standing|stands|stand)$/, instead: 'DebugSession, is' },
  shelf: { forms: /^(shelf|shelves)$/, instead: 'connectionPoolKey' },
  once: { forms: /^atonce$/, instead: 'concurrent, immediately' },
  let: { forms: /^letgo$/, instead: 'release, isReleased' },
  mend: { forms: /^(mend|mends|mended|mending)$/, instead: 'fix' },
}

/** Names given by others: Node, the DOM, wire formats, and keywords of our own public API. */
const allowed = new Set([
  // Node and libraries.
  'keepAlive',
  'keepAliveTimeout',
  'setKeepAlive',
  'keepPreviousData',
  // Keywords of a policy, of `--in-doubt` and of `retake branches --files --keep`.
  'ask',
  'keep',
  'keepOverlay',
  // Fields of tapes, stored findings and `--json` output, which others read.
  'asked',
  'askedAt',
  'askedBy',
  'carried',
  'kept',
  'question',
  // A key of the keyboard.
  'Home',
  // Error codes are stable.
  'DATABASE_NOT_CARRIED_OVER',
  'BLAME_CANNOT_TELL',
  // A stand-in is one word of plain English.
  'StandIn',
  'standIn',
  'standIns',
  'standInFor',
  'stand-in-answer',
])

/** Pairs such as `atOnce` count as one word. */
const wordsIn = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
    .replaceAll(/\b(at-once|let-go|where-is|home-directory)\b/g, (pair) => pair.replace('-', ''))
    .split('-')

const packages = new URL('../packages/', import.meta.url)

/** Every identifier of the product's sources, and the names of its files. */
function namesInSources(): Set<string> {
  const names = new Set<string>()
  for (const name of packageNames) {
    const source = new URL(`${name}/src/`, packages)
    for (const path of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
      if (!/\.tsx?$/.test(path) || /\.test\.tsx?$/.test(path)) continue
      names.add(basename(path).replace(/\.tsx?$/, ''))
      const text = readFileSync(new URL(path, source), 'utf8')
      collectIdentifiers(parseSync(path, text).program, names)
    }
  }
  return names
}

function collectIdentifiers(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) for (const item of node) collectIdentifiers(item, names)
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return
  const { type, name, ...rest } = node as Readonly<Record<string, unknown>>
  if (typeof name === 'string' && String(type).endsWith('Identifier')) names.add(name)
  else collectIdentifiers(name, names)
  for (const child of Object.values(rest)) collectIdentifiers(child, names)
}

const names = [...namesInSources()].filter((name) => !allowed.has(name)).toSorted()

test.each(Object.entries(retired))('no name contains "%s"', (_, { forms, instead }) => {
  const found = names.filter((name) => wordsIn(name).some((part) => forms.test(part)))
  expect(found, `Write ${instead} instead.`).toEqual([])
})
