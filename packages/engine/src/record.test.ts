import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { natives } from './natives.js'
import { openRecording } from './record.js'

test('of two runs that draw the same id at once the second draws again', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const random = vi.spyOn(natives, 'randomBytes')
  const same = Buffer.alloc(16, 7)
  random.mockReturnValueOnce(same).mockReturnValueOnce(same)
  const [first, second] = [0, 1].map(() => openRecording({ name: 'x', dir }))
  for (const each of [first, second]) each?.session.finish({})
  expect(random.mock.calls.length).toBeGreaterThanOrEqual(2)
  expect(first?.run.id).not.toBe(second?.run.id)
  expect(readdirSync(dir).filter((name) => name.endsWith('.tape'))).toHaveLength(2)
})

test('a folder that cannot be made is told with what the system said, and nothing is touched', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const dir = path.join(folder, 'notes.txt')
  writeFileSync(dir, 'precious')
  expect(() => openRecording({ name: 'x', dir })).toThrow(
    expect.objectContaining({
      code: 'RUNS_FOLDER_NOT_WRITABLE',
      what: `The folder ${dir} cannot be written to.`,
      why: expect.stringContaining('EEXIST') as string,
    }),
  )
  expect(readFileSync(dir, 'utf8')).toBe('precious')
})
