import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { skipTest, soakOnly } from '../support/soak.js'
import { createOrganization, pushTape, startTeam, writeRun } from './support/api-team.js'

const CLEAR = /DISK_FULL|STORAGE_FAILED|DATABASE_UNREACHABLE/

/** Writes until the disk has no free block. */
function fillUp(file: string): void {
  const handle = openSync(file, 'w')
  try {
    for (const block = Buffer.alloc(4096); ;) writeSync(handle, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(handle)
  }
}

test('a full disk refuses pushes with a clear error, and loses nothing confirmed', async () => {
  soakOnly()
  const outer = mkdtempSync(path.join(tmpdir(), 'retake-full-'))
  chmodSync(outer, 0o711)
  const disk = path.join(outer, 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=0711', 'tmpfs', disk], {
      stdio: 'ignore',
    })
  } catch {
    return skipTest('no right to mount a small disk')
  }
  try {
    const team = await startTeam({}, path.join(disk, 'data'))
    const { owner } = await createOrganization(team, 'acme')
    await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds' })
    const push = (id: string) => {
      const tape = writeRun(outer, id, `${id} ${randomBytes(500_000).toString('base64')}`)
      return pushTape(team, owner, ['acme', 'refunds'], tape)
    }
    const filler = path.join(disk, 'filler')
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - (12 << 20))))
    const confirmed: string[] = []
    let refusal = ''
    for (let count = 0; refusal === '' && count < 200; count++) {
      const answer = await push(`run-${count}`)
      if (answer.status === 201) confirmed.push(`run-${count}`)
      else refusal = `${answer.status} ${answer.text}`
    }
    expect(refusal).toMatch(CLEAR)
    expect(refusal).toMatch(/^50[37] /)
    expect(confirmed.length).toBeGreaterThan(0)

    // Not one block is left: neither records nor the log of PostgreSQL can grow.
    fillUp(`${filler}-rest`)
    const comments: string[] = []
    const route = '/api/v1/acme/projects/refunds/runs/run-0'
    const refused = new Set<string>()
    for (let count = 0; count < 30; count++) {
      const said = await team.request(owner, 'POST', `${route}/comments`, { text: 'seen' })
      if (said.status === 201) comments.push(said.json<{ comment: { id: string } }>().comment.id)
      else refused.add(`${said.status} ${said.text}`)
    }
    expect(refused.size).toBeGreaterThan(0)
    for (const each of refused) expect(each).toMatch(CLEAR)

    rmSync(filler)
    rmSync(`${filler}-rest`)
    await expect.poll(async () => (await push('after')).status, { timeout: 60_000 }).toBe(201)
    for (const id of confirmed) {
      const found = await team.request(owner, 'GET', `/api/v1/acme/projects/refunds/runs/${id}`)
      expect(found.status, id).toBe(200)
    }
    const kept = (await team.request(owner, 'GET', route)).json<{ comments: { id: string }[] }>()
    expect(kept.comments.map(({ id }) => id)).toEqual(expect.arrayContaining(comments))
    await team.server.close()
  } finally {
    execFileSync('umount', ['-l', disk])
    rmSync(outer, { recursive: true, force: true })
  }
})
