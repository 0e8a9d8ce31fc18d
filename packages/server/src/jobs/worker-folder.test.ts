import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WorkerFolder } from './worker-folder.js'

function parentFolder(): string {
  const parent = mkdtempSync(path.join(tmpdir(), 'retake-worker-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  return parent
}

/** A folder of a worker that was killed on a machine. */
function abandoned(parent: string, { host, ageMs = 0 }: { host: string; ageMs?: number }): string {
  const folder = path.join(parent, 'worker-0123456789ab')
  mkdirSync(path.join(folder, 'job'), { recursive: true })
  const marker = path.join(folder, '.retake-worker')
  writeFileSync(marker, host)
  utimesSync(marker, new Date(), new Date(Date.now() - ageMs))
  return path.basename(folder)
}

const HERE = hostname()

describe('the folder of a worker', () => {
  test('is its own, and everything else in its parent stays', () => {
    const parent = parentFolder()
    mkdirSync(path.join(parent, 'jobs'))
    writeFileSync(path.join(parent, 'jobs', 'precious.txt'), 'precious')
    // Without the marker, it is not from a worker.
    mkdirSync(path.join(parent, 'worker-ba9876543210'))
    const [first, second] = [WorkerFolder.create(parent), WorkerFolder.create(parent)]
    writeFileSync(path.join(first.path, 'job'), 'running')
    expect(WorkerFolder.create(parent).path).not.toBe(second.path)
    expect(readdirSync(first.path)).toContain('job')
    expect(readdirSync(path.join(parent, 'jobs'))).toEqual(['precious.txt'])
    first.remove()
    expect(readdirSync(parent)).not.toContain(path.basename(first.path))
    expect(readdirSync(parent)).toContain(path.basename(second.path))
    expect(readdirSync(parent)).toContain('worker-ba9876543210')
  })

  test('of a worker that was killed is removed by the next one', () => {
    const parent = parentFolder()
    const name = abandoned(parent, { host: HERE })
    WorkerFolder.create(parent)
    expect(readdirSync(parent)).not.toContain(name)
  })

  test.each([
    ['stays while it may be running', 60_000, true],
    ['is removed after an hour of silence', 2 * 3600_000, false],
  ])('of another machine %s', (_title, ageMs, stays) => {
    const parent = parentFolder()
    const name = abandoned(parent, { host: 'another', ageMs })
    WorkerFolder.create(parent)
    expect(readdirSync(parent).includes(name)).toBe(stays)
  })
})
