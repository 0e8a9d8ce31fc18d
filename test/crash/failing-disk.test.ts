import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { openTape, TapeWriter } from '@retake/tape/node'

const child = fileURLToPath(new URL('failing-disk-child.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'retake-disk-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the child says about its writer. */
interface Report {
  readonly promised: number
  readonly code: string
  readonly cause: string
  readonly message: string
  readonly sameAfter: readonly boolean[]
  readonly syncCalls: number
}

function failOn(mode: 'full' | 'sync', path: string, limit: string): Report {
  const command = `${limit} exec "$0" "$1" ${mode} "$2"`
  const { stdout, stderr } = spawnSync('bash', ['-c', command, process.execPath, child, path], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout) as Report
}

test('a full disk stops the recording, loses nothing acknowledged, and the run can be resumed later', () => {
  const path = join(folder, 'full.tape')
  const report = failOn('full', path, 'ulimit -f 1000;')
  expect(report).toMatchObject({
    code: 'TAPE_WRITE_FAILED',
    cause: 'EFBIG',
    sameAfter: [true, true, true],
  })
  expect(report.message).toContain('Free disk space')
  const tape = openTape(path)
  expect(tape).toMatchObject({ count: report.promised + 1, tornBytes: 0, status: 'truncated' })
  const writer = TapeWriter.reopen(path)
  writer.append({ type: 'end', exitCode: 1 })
  writer.seal()
  expect(openTape(path).verify()).toMatchObject({ ok: true, count: report.promised + 3 })
})

test('a failed sync stops the recording and is never retried', () => {
  const path = join(folder, 'sync.tape')
  const report = failOn('sync', path, '')
  expect(report).toMatchObject({
    code: 'TAPE_WRITE_FAILED',
    cause: 'EIO',
    sameAfter: [true, true, true],
    syncCalls: 1,
  })
  expect(openTape(path)).toMatchObject({ count: report.promised + 1, tornBytes: 0 })
})
