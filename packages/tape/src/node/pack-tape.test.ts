import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampleDrafts, tapeBytes } from '../../../../test/support/tape-bytes.js'
import { readTape } from '../browser/read-tape.js'
import { openTape } from './open-tape.js'
import { packTape } from './pack-tape.js'
import { TapeWriter } from './tape-writer.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-pack-'))
const path = (name: string): string => join(folder, name)

test('a packed file has the same events as its source, which is unchanged', () => {
  const { bytes } = tapeBytes([...sampleDrafts(), ...sampleDrafts()], { sealed: true })
  writeFileSync(path('a.tape'), bytes)
  packTape(path('a.tape'), path('b.tape'))
  const [before, after] = [openTape(path('a.tape')), openTape(path('b.tape'))]
  expect([...after.events()]).toEqual([...before.events()])
  expect(after.verify()).toEqual(before.verify())
  expect(readTape(readFileSync(path('b.tape'))).verify()).toEqual(before.verify())
  expect(readFileSync(path('a.tape')).equals(bytes)).toBe(true)
  expect(statSync(path('b.tape')).size).toBeLessThan(bytes.length)
  expect(statSync(path('b.tape')).mode & 0o777).toBe(0o600)
  expect(() => TapeWriter.reopen(path('b.tape'))).toThrow(/sealed/)
  expect(() => packTape(path('a.tape'), path('b.tape'))).toThrow(/already exists/)
})

test('an unfinished or damaged tape is not packed, and leaves nothing behind', () => {
  const files = readdirSync(folder).length
  writeFileSync(path('open.tape'), tapeBytes(sampleDrafts()).bytes)
  expect(() => packTape(path('open.tape'), path('x.tape'))).toThrow(/cannot be packed/)
  const { bytes, ends } = tapeBytes(sampleDrafts(), { sealed: true })
  const damaged = new Uint8Array(bytes)
  damaged[(ends[6] ?? 0) + 40] = 0
  writeFileSync(path('bad.tape'), damaged)
  expect(() => packTape(path('bad.tape'), path('x.tape'))).toThrow(/corrupt at event 7/)
  expect(() => packTape(path('open.tape'), path('nowhere/x.tape'))).toThrow(/cannot be packed/)
  expect(readdirSync(folder)).toHaveLength(files + 2)
})
