import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { readSettings } from '@retake/server'
import { expect, test } from 'vitest'
import { RunCache } from '../../packages/server/dist/runs/run-cache.js'
import { isDiskFull } from '../../packages/server/dist/edge/errors.js'
import { BlobStore } from '../../packages/server/dist/storage/blob-store.js'
import { ServerKeys } from '../../packages/server/dist/storage/server-keys.js'
import { fillUp, removeDisk, smallDisk } from '../support/small-disk.js'
import { skipTest, soakOnly } from '../support/soak.js'
import { createOrganization, pushTape, startTeam, writeRun } from './support/api-team.js'

const CLEAR = /DISK_FULL|STORAGE_FAILED|DATABASE_UNREACHABLE/

test('on a full disk, cached copies and abandoned uploads make room for uploads', async () => {
  const small = smallDisk('9m')
  if (small === undefined) return skipTest('no right to mount a small disk')
  const { disk } = small
  try {
    const blobs = new BlobStore(readSettings({ data: disk }, {}), ServerKeys.open(disk))
    const cache = new RunCache(disk, blobs)
    const org = 'acme'
    const size = 1 << 20
    const upload = (content: Buffer) => {
      const digest = createHash('sha256').update(content).digest('hex')
      const received = cache.receive({ org, digest, offset: 0, size }, Readable.from([content]))
      return received.then(() => digest)
    }
    const cached = (): string[] =>
      readdirSync(path.join(disk, 'cache'), { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .map(({ name }) => name)
    const contents = Array.from({ length: 5 }, () => randomBytes(size))
    const digests: string[] = []
    for (const [index, content] of contents.slice(0, 3).entries()) {
      const digest = await upload(content)
      digests.push(digest)
      const file = { name: `${index}.tape`, digest, bytes: size }
      await cache.adopt(org, 'refunds', file)
      await cache.forgetUploads(org, [file])
    }
    const given = { org, digest: 'a'.repeat(64), offset: 0, size: 2 * size }
    await cache.receive(given, Readable.from([randomBytes(size)]))
    expect(cached().toSorted()).toEqual(['0.tape', '1.tape', '2.tape', given.digest])
    // A copy that was used a moment ago stays.
    await pause(5500)
    await cache.fetch(org, 'refunds', [{ name: '2.tape', digest: digests[2] ?? '', bytes: size }])

    const fourth = await upload(contents[3] ?? Buffer.alloc(0))
    expect(cached().toSorted()).toEqual(['2.tape', fourth].toSorted())

    // Only as much as the copies in use leave: the last write of the file fits in part, or not.
    const stored = [...digests, fourth]
    const refused: string[] = []
    const filler = path.join(disk, 'filler')
    const last = contents[4] ?? Buffer.alloc(0)
    for (const pages of [0, 1, 256, 511, 512, 513]) {
      const { bavail, bsize } = statfsSync(disk)
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail - pages) * bsize))
      await cache.fetch(org, 'refunds', [{ name: '2.tape', digest: digests[2] ?? '', bytes: size }])
      const result = await upload(last).catch((error: unknown) => error)
      rmSync(filler)
      if (typeof result === 'string') {
        stored.push(result)
        break
      }
      refused.push(`${isDiskFull(result) ? 'full' : String(result)}, ${cached().length} cached`)
    }
    expect(new Set(refused)).toEqual(new Set(['full, 2 cached']))
    if (stored.length < 5) stored.push(await upload(last))
    for (const [index, digest] of stored.entries()) {
      const content = await blobs.readFile(org, digest)
      const expected = contents[index] ?? Buffer.alloc(0)
      expect(content && (await buffer(content)).equals(expected)).toBe(true)
    }
  } finally {
    removeDisk(small)
  }
})

test('a full disk refuses pushes with a clear error, and loses nothing confirmed', async () => {
  soakOnly()
  const small = smallDisk('400m')
  if (small === undefined) return skipTest('no right to mount a small disk')
  const { outer, disk } = small
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
    const ready = async (): Promise<string> => {
      const { status, text } = await team.request({}, 'GET', '/readyz')
      return `${status} ${text}`
    }
    expect(await ready()).toBe('503 {"ok":false,"code":"DISK_FULL"}')
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
    await expect.poll(ready, { timeout: 60_000 }).toBe('200 {"ok":true}')
    expect((await push('after')).status).toBe(201)
    for (const id of confirmed) {
      const found = await team.request(owner, 'GET', `/api/v1/acme/projects/refunds/runs/${id}`)
      expect(found.status, id).toBe(200)
    }
    const kept = (await team.request(owner, 'GET', route)).json<{ comments: { id: string }[] }>()
    expect(kept.comments.map(({ id }) => id)).toEqual(expect.arrayContaining(comments))
    await team.server.close()
  } finally {
    removeDisk(small)
  }
})
