import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const contract = readFileSync(`${root}docs/contract.md`, 'utf8')

/** A sentence of the contract and the tests named behind it, as `file: title`. */
interface Promised {
  readonly sentence: string
  readonly tests: readonly string[]
}

const REFERENCE = /<!-- (.+?) -->/g

/** Headings and the introduction promise nothing; a table promises one thing a row. */
function promisesIn(markdown: string): Promised[] {
  const references: string[] = []
  const body = markdown
    .slice(markdown.indexOf('\n## '))
    .replaceAll(REFERENCE, (_, reference: string) => `{${references.push(reference) - 1}}`)
  return body
    .split(/\n(?=[-|]|\n)/)
    .map((block) => block.trim())
    .filter((block) => block !== '' && !block.startsWith('#') && !isTableHead(block, body))
    .flatMap((block) => (block.startsWith('|') ? [block] : sentencesOf(block)))
    .map((text) => ({
      sentence: text.replaceAll(PLACE, '').trim(),
      tests: [...text.matchAll(PLACE)].map(([, index]) => references[Number(index)] ?? ''),
    }))
}

/** Where a reference was. */
const PLACE = /\s*\{(\d+)\}/g

/** The row of dashes, and the row above it, which names the columns. */
const isTableHead = (block: string, body: string): boolean =>
  /^\|[-|]+$/.test(block) || (block.startsWith('|') && body.includes(`${block}\n|--`))

/** A sentence ends with a full stop and its references; a bold title belongs to what follows. */
const sentencesOf = (block: string): string[] => block.split(/(?<=\.(?:\s*\{\d+\})*)\s+(?=[A-Z`])/)

const promises = promisesIn(contract)

test('every sentence of docs/contract.md names a test', () => {
  const without = promises.filter(({ tests }) => tests.length === 0)
  expect(
    without.map(({ sentence }) => sentence),
    'write a test for it and name it behind the sentence: <!-- test/file.test.ts: title -->',
  ).toEqual([])
  expect(promises.length).toBeGreaterThan(80)
})

test('every test named in docs/contract.md exists', () => {
  const missing = promises.flatMap(({ sentence, tests }) =>
    tests.filter((reference) => !exists(reference)).map((reference) => ({ sentence, reference })),
  )
  expect(
    missing,
    'the test was renamed or removed: name another one, or drop the sentence',
  ).toEqual([])
})

/** True if a file contains a test with this title, as written in its source. */
function exists(reference: string): boolean {
  const [, file = '', title = ''] = /^(\S+): (.+)$/.exec(reference) ?? []
  const path = `${root}${file}`
  if (!existsSync(path)) return false
  return new RegExp(`['"\`]${escapeForRegExp(title)}['"\`]`).test(
    readFileSync(path, 'utf8').replaceAll(/\\(['"`])/g, '$1'),
  )
}

const escapeForRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
