import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'

const page = (code: string): URL => new URL(`../../docs/errors/${code}.md`, import.meta.url)

/** The source files below a folder of a package whose paths match. */
function textsIn(folder: string, wanted: RegExp): string[] {
  const url = new URL(`../../packages/${folder}/`, import.meta.url)
  return readdirSync(url, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => wanted.test(file) && file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(new URL(file, url), 'utf8'))
}
const quoted = (text: string): string[] =>
  [...text.matchAll(/'([A-Z]+(?:_[A-Z]+)+)'/g)].map(([, code]) => code ?? '')

/** Every error code that a package mentions where its errors are, and those of its parts; not Node's own. */
const codesOf = (name: string): string[] => [
  ...new Set(
    textsIn(`${name}/src`, /^(?:.*[/-])?errors(?:\.ts$|\/)/)
      .flatMap(quoted)
      .filter((code) => !code.startsWith('ERR_')),
  ),
]

/** Every source file of the guard, where each part says itself why it refuses. */
const guardTexts = textsIn('guard/src', /^/)
/** Codes of refusals; kinds of drift are no errors. */
const guardCodes = guardTexts
  .flatMap((text) => text.match(/^ *code: .*$/gm) ?? [])
  .flatMap(quoted)
  .filter((code) => !/^(TEXT_WHERE_JSON|(INVALID|MISSING|TYPE|KIND|SCHEMA)_\w+)$/.test(code))

const packages = readdirSync(new URL('../../packages', import.meta.url)).filter(
  (name) => name !== 'guard',
)
/** Inside of Jest there is no package to import errors from. */
const door = readFileSync(new URL('../../packages/cli/jest/door.cjs', import.meta.url), 'utf8')
const codes = [...packages.flatMap(codesOf), ...guardCodes, /code ([A-Z_]+)/.exec(door)?.[1] ?? '']

test('every error code has a page that says what, why and what to do', () => {
  expect(codes.length).toBeGreaterThan(30)
  const missing = codes.filter((code) => !existsSync(page(code)))
  expect(missing, `write docs/errors/<CODE>.md for ${missing.join(', ')}`).toEqual([])
  for (const code of codes) {
    const text = readFileSync(page(code), 'utf8')
    expect(text, code).toMatch(
      new RegExp(`^# ${code}\n\n[^]+\n## Why it happens\n\n[^]+\n## What to do\n\n[^]+\n$`),
    )
  }
})

test('every page is about an error that exists', () => {
  const pages = readdirSync(new URL('../../docs/errors', import.meta.url))
  const known = new Set([...codes, ...guardTexts.flatMap(quoted), 'README'])
  expect(pages.map((file) => basename(file, '.md')).filter((code) => !known.has(code))).toEqual([])
})

test('the commands that pages tell to run exist', async () => {
  const { verbs } = await import('../../packages/cli/src/verbs/index.js')
  const names = new Set([...verbs.map(({ name }) => name), '<command>'])
  const unknown = codes.flatMap((code) =>
    [...readFileSync(page(code), 'utf8').matchAll(/`retake ([a-z]+|<command>)[ `]/g)]
      .map(([, name]) => name ?? '')
      .filter((name) => !names.has(name))
      .map((name) => `${code}: retake ${name}`),
  )
  expect(unknown).toEqual([])
})
