import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampleDrafts, tapeBytes } from '../../../../test/support/tape-bytes.js'
import { readTape } from '../browser/browser-platform.js'
import { looseTape } from './loose-tape.js'
import { openTape } from './open-tape.js'
import { TapeWriter } from './tape-writer.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-loose-'))

function written(name: string, bytes: Uint8Array): string {
  const file = join(folder, name)
  writeFileSync(file, bytes)
  return file
}

test('a loose tape is a packed tape with the same events and seal', () => {
  const { bytes } = tapeBytes([...sampleDrafts(), ...sampleDrafts()], { sealed: true })
  const before = openTape(written('a.tape', bytes))
  const loose = looseTape(before.path)
  const after = openTape(written('b.tape', loose))
  expect([...after.events()]).toEqual([...before.events()])
  expect(after.verify()).toEqual(before.verify())
  expect(readTape(loose).verify()).toEqual(before.verify())
  expect(() => TapeWriter.reopen(after.path)).toThrow(/sealed/)
})

test('a tape without a seal is returned without its torn tail', () => {
  const { bytes } = tapeBytes(sampleDrafts())
  const torn = written('torn.tape', Buffer.concat([bytes, Buffer.from('{"seq":')]))
  expect(Buffer.from(looseTape(torn)).equals(bytes)).toBe(true)
})

test('a damaged tape is refused', () => {
  const { bytes, ends } = tapeBytes(sampleDrafts(), { sealed: true })
  const damaged = new Uint8Array(bytes)
  damaged[(ends[6] ?? 0) + 40] = 0
  expect(() => looseTape(written('bad.tape', damaged))).toThrow(/corrupt at event 7/)
})
