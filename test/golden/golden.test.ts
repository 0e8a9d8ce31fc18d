import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readTape } from '@retake/tape/browser'
import { openOwnTape } from '@retake/tape/node'
import { contentsOf, writeGolden } from './make-golden.mjs'

const here = (name: string): string => join(import.meta.dirname, name)
const read = (name: string): unknown => JSON.parse(readFileSync(here(name), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'retake-golden-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Compressed bytes depend on the zlib that made them; content never does. */
const madeWithZlib = '1.3.1-e00f703'

const tapesOf = (format: number): [tape: string, contents: string][] => [
  [`format-${format}-sealed`, `format-${format}-sealed`],
  [`format-${format}-packed`, `format-${format}-sealed`],
  [`format-${format}-killed`, `format-${format}-killed`],
]

/** The only format so far; from the first release on, each older one has its tapes here, too. */
const PRESENT = 1

describe.each(tapesOf(PRESENT))('the golden tape %s', (name, contents) => {
  test('reads as it was recorded', () => {
    expect(contentsOf(here(`${name}.tape`))).toEqual(read(`${contents}.json`))
  })

  test('reads the same without Node.js modules', () => {
    const node = openOwnTape(here(`${name}.tape`))
    const browser = readTape(readFileSync(here(`${name}.tape`)))
    expect([...browser.events()]).toEqual([...node.events()])
    for (let seq = 0; seq < node.count; seq++) expect(browser.body(seq)).toEqual(node.body(seq))
  })
})

describe.each(tapesOf(PRESENT))('the golden tape %s of the present format', (name, contents) => {
  test('is what the writer of this format writes today', () => {
    writeGolden(folder)
    expect(contentsOf(join(folder, `${name}.tape`))).toEqual(read(`${contents}.json`))
  })

  test.runIf(process.versions.zlib === madeWithZlib)('is rewritten byte for byte', () => {
    writeGolden(folder)
    const bytes = readFileSync(join(folder, `${name}.tape`))
    expect(bytes.equals(readFileSync(here(`${name}.tape`)))).toBe(true)
  })
})

test('the golden tapes contain every event type', () => {
  const types = new Set(
    Array.from(openOwnTape(here('format-1-sealed.tape')).events(), ({ type }) => type),
  )
  expect([...types].toSorted()).toEqual([
    'call',
    'deliver',
    'draw',
    'end',
    'note',
    'output',
    'request',
    'response',
    'result',
    'run',
    'seal',
    'socket',
    'timer',
    'work',
    'write',
  ])
})

test('the golden seal is signed with the public test key', () => {
  expect(openOwnTape(here('format-1-sealed.tape')).verify()).toMatchObject({
    ok: true,
    signature: 'valid',
    key: '6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',
  })
})

test('a tape of a future format is refused with the advice to update Retake', () => {
  expect(() => openOwnTape(here('from-the-future.tape'))).toThrow(
    /written by a newer Retake\. It has format 9999.*Update Retake/,
  )
})
