import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changeOverlay, overlayCall } from './overlay-call.js'
import { keepOverlay, overlayChanges } from './overlay-changes.js'
import { Overlay } from './overlay.js'

const filePath = fc.constantFrom(
  'f',
  'g',
  'd',
  'd/f',
  'd/e',
  'd/e/f',
  'link',
  'link/f',
  'new',
  'new/f',
)
const word = fc.constantFrom('', 'a', 'bb', 'ccc')

/** A call of a function that changes files, with paths below some folder. */
const change = fc.oneof(
  fc.tuple(fc.constant('writeFile'), filePath, word),
  fc.tuple(fc.constant('appendFile'), filePath, word),
  fc.tuple(fc.constantFrom('unlink', 'rmdir', 'mkdir'), filePath),
  fc.tuple(fc.constant('rm'), filePath, fc.constantFrom({ recursive: true }, { force: true })),
  fc.tuple(fc.constant('mkdir'), filePath, fc.constant({ recursive: true })),
  fc.tuple(fc.constant('truncate'), filePath, fc.constantFrom(0, 1)),
  fc.tuple(fc.constant('chmod'), filePath, fc.constantFrom(0o700, 0o755)),
  fc.tuple(fc.constantFrom('rename', 'copyFile', 'link'), filePath, filePath),
  fc.tuple(fc.constant('symlink'), fc.constantFrom('d', 'f', '../f'), filePath),
)
type Change = readonly [string, string, (string | number | object)?]

/** The same call below a given folder. */
function below(folder: string, [name, first, second]: Change): unknown[] {
  const inside = (text: string): string => path.join(folder, text)
  if (name === 'symlink') return [first, inside(second as string)]
  const isPath = ['rename', 'copyFile', 'link'].includes(name)
  return [inside(first), isPath ? inside(second as string) : second]
}

function attempt(work: () => unknown): string {
  try {
    work()
    return 'done'
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}

const isFolder = (at: string): boolean => attempt(() => fs.readdirSync(at)) === 'done'

function prepare(folder: string): void {
  fs.mkdirSync(path.join(folder, 'd', 'e'), { recursive: true })
  for (const name of ['f', 'd/f', 'd/e/f']) fs.writeFileSync(path.join(folder, name), name)
  fs.symlinkSync('d', path.join(folder, 'link'))
}

/** Everything below a folder, according to `list` and `read`. */
function look(
  folder: string,
  list: (at: string) => readonly fs.Dirent[],
  read: (at: string) => string,
): string[] {
  return list(folder).flatMap((entry) => {
    const at = path.join(folder, entry.name)
    if (entry.isDirectory()) return [`${at}/`, ...look(at, list, read)]
    return [`${at} ${entry.isSymbolicLink() ? 'link' : read(at)}`]
  })
}

const lookAtDisk = (folder: string): string[] =>
  look(
    folder,
    (at) => fs.readdirSync(at, { withFileTypes: true }),
    (at) => fs.readFileSync(at, 'utf8'),
  )
    .map((line) => line.slice(folder.length))
    .toSorted()

const lookThrough = (overlay: Overlay, folder: string): string[] =>
  look(
    folder,
    (at) => overlay.list(at),
    (at) => String(fs.readFileSync(overlayCall(overlay, 'readFile', [at])?.args[0] as string)),
  )
    .map((line) => line.slice(folder.length))
    .toSorted()

test('changes look the same in an overlay as on disk, do not touch the disk, and can be applied', () => {
  const outer = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'retake-overlay-')))
  let runs = 0
  const property = fc.property(fc.array(change, { maxLength: 14 }), (changes) => {
    const [real, covered, kept] = ['real', 'covered', 'files'].map((name) =>
      path.join(outer, String((runs += 1)), name),
    ) as [string, string, string]
    for (const folder of [real, covered]) prepare(folder)
    const before = lookAtDisk(covered)
    const overlay = new Overlay(kept)
    for (const each of changes as unknown as Change[]) {
      // Copying a folder fails and deletes the target, which is not worth imitating.
      if (each[0] === 'copyFile' && isFolder(path.join(real, each[1]))) continue
      const native = (fs as never)[`${each[0]}Sync`] as (...args: unknown[]) => unknown
      const onDisk = attempt(() => native(...below(real, each)))
      const inOverlay = attempt(() => changeOverlay(overlay, each[0], below(covered, each)))
      expect(inOverlay, JSON.stringify(each)).toBe(onDisk)
      expect(lookThrough(overlay, covered), JSON.stringify(each)).toEqual(lookAtDisk(real))
    }
    expect(lookAtDisk(covered)).toEqual(before)
    // Another process sees the same files.
    expect(lookThrough(new Overlay(kept), covered)).toEqual(lookAtDisk(real))
    keepOverlay(kept)
    expect(lookAtDisk(covered)).toEqual(lookAtDisk(real))
    expect(overlayChanges(kept)).toEqual([])
  })
  try {
    fc.assert(property, {
      numRuns: 300,
      examples: [
        [
          [
            ['rm', 'link', { recursive: true }],
            ['rename', 'd', 'link'],
          ],
        ],
      ],
    })
  } finally {
    fs.rmSync(outer, { recursive: true, force: true })
  }
})
