import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FORMAT_RULES, validateTape } from '@retake/tape'
import { browserPlatform } from '../packages/tape/src/browser/browser-platform.js'
import { nodePlatform, openFileSource } from '@retake/tape/node'
import { parseSync } from 'oxc-parser'
import { afterAll, describe, expect, test } from 'vitest'
import { writeFixtures } from '../packages/tape/fixtures/make-fixtures.mjs'
import { makeWorkspace } from './support/run-retake.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const fixtures = join(root, 'packages/tape/fixtures')
const folder = mkdtempSync(join(tmpdir(), 'retake-tape-format-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Expected {
  readonly state: string
  readonly tornBytes?: number
  readonly problems: readonly { readonly code: string }[]
  readonly events?: readonly { readonly event: { readonly type: string } }[]
}
const namesIn = (part: string): string[] =>
  readdirSync(join(fixtures, part))
    .filter((file) => file.endsWith('.tape'))
    .map((file) => `${part}/${file.replace('.tape', '')}`)
const valid = namesIn('valid')
const damaged = namesIn('damaged')
const expectedOf = (name: string): Expected =>
  JSON.parse(readFileSync(join(fixtures, `${name}.json`), 'utf8')) as Expected

describe.each([...valid, ...damaged])('the fixture %s', (name) => {
  const source = openFileSource(join(fixtures, `${name}.tape`))
  const { state, tornBytes = 0, problems } = expectedOf(name)

  test('is judged as its JSON says, in Node.js and in browsers', () => {
    const report = validateTape(nodePlatform, source)
    expect(report).toMatchObject({ valid: problems.length === 0, state, tornBytes })
    expect(report.problems).toEqual(problems.map((problem) => expect.objectContaining(problem)))
    expect(report.problems.every(({ why }) => why.endsWith('.'))).toBe(true)
    // Browsers check signatures later.
    const { problems: seen } = validateTape(browserPlatform, source)
    expect(seen).toEqual(name === 'damaged/signature' ? [] : report.problems)
  })

  test('has a problem only if it is damaged', () =>
    expect(problems.length > 0).toBe(name.startsWith('damaged/')))
})

test('the fixtures are what their generator writes', () => {
  const names = writeFixtures(folder)
  expect(names.toSorted()).toEqual([...valid, ...damaged].toSorted())
  for (const file of names.flatMap((name) => [`${name}.tape`, `${name}.json`]))
    expect(readFileSync(join(folder, file)).equals(readFileSync(join(fixtures, file))), file).toBe(
      true,
    )
})

test.each(['format-1-sealed', 'format-1-packed', 'format-1-killed'])(
  'the golden tape %s is valid',
  (name) => {
    const source = openFileSource(join(root, 'test/golden', `${name}.tape`))
    expect(validateTape(nodePlatform, source).problems).toEqual([])
  },
)

/** The record kinds of the type `TapeEvent`, from the source. */
function kindsInSource(): string[] {
  const file = join(root, 'packages/tape/src/format/events.ts')
  const { program } = parseSync(file, readFileSync(file, 'utf8'))
  const kinds: string[] = []
  for (const node of program.body) {
    const { declaration } = node as { readonly declaration?: { readonly type: string } }
    if (declaration?.type !== 'TSInterfaceDeclaration') continue
    const { body } = declaration as unknown as {
      readonly body: { readonly body: readonly Member[] }
    }
    const member = body.body.find(({ key }) => key?.name === 'type')
    const kind = member?.typeAnnotation?.typeAnnotation?.literal?.value
    if (kind !== undefined) kinds.push(kind)
  }
  return kinds.toSorted()
}
interface Member {
  readonly key?: { readonly name?: string }
  readonly typeAnnotation?: {
    readonly typeAnnotation?: { readonly literal?: { readonly value?: string } }
  }
}

const page = readFileSync(join(root, 'docs/tape-format.md'), 'utf8')
/** The first column of the table after a heading. */
const tableAfter = (heading: string): string[] =>
  [...(page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)]
    .map(([, name = '']) => name)
    .toSorted()

test('the document, the fixtures and the source have the same kinds of records', () => {
  const kinds = kindsInSource()
  expect(kinds.length).toBe(15)
  expect(tableAfter('Records')).toEqual(kinds)
  for (const part of ['valid', 'damaged'])
    expect(namesIn(part)).toEqual(expect.arrayContaining(kinds.map((kind) => `${part}/${kind}`)))
  for (const kind of kinds)
    expect(
      expectedOf(`valid/${kind}`).events?.map(({ event }) => event.type),
      kind,
    ).toContain(kind)
})

test('the document has every code of the validator, and each has a fixture', () => {
  const codes = Object.keys(FORMAT_RULES).toSorted()
  expect(tableAfter('Validator')).toEqual(codes)
  for (const [code, rule] of Object.entries(FORMAT_RULES))
    expect(page).toContain(`| \`${code}\` | ${rule} |`)
  const shown = new Set(
    damaged.flatMap((name) => expectedOf(name).problems.map(({ code }) => code)),
  )
  expect([...shown].toSorted()).toEqual(codes)
})

test('`verify --format` prints one line per problem, and exits with 3', async () => {
  const { retake, remove } = await makeWorkspace()
  const file = (name: string): string => join(fixtures, `${name}.tape`)
  const good = await retake(['verify', '--format', file('valid/request'), file('valid/packed')])
  expect(good).toMatchObject({ code: 0, stdout: '' })
  const bad = await retake(['verify', '--format', file('damaged/chain'), file('valid/end')])
  expect(bad.code).toBe(3)
  expect(bad.stdout.trim().split('\n')).toEqual([
    expect.stringMatching(/damaged\/chain\.tape: byte \d+, event 2: CHAIN: The chain hash is /),
  ])
  const json = await retake(['verify', '--format', '--json', file('damaged/line-crc')])
  expect(json.code).toBe(3)
  expect(JSON.parse(json.stdout)).toMatchObject({
    valid: false,
    state: 'damaged',
    problems: [{ code: 'LINE_CRC', seq: 1, offset: expect.any(Number) }],
  })
  await remove()
})
