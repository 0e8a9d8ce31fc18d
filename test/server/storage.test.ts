import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readSettings } from '@retake/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BlobStore, probeStorage } from '../../packages/server/dist/storage/blob-store.js'
import { ServerKeys } from '../../packages/server/dist/storage/server-keys.js'
import { type FakeS3, startFakeS3 } from './support/fake-s3.js'

const folder = mkdtempSync(path.join(tmpdir(), 'retake-storage-'))
let s3: FakeS3
let blobs: BlobStore
const settings = () =>
  readSettings(
    { data: folder },
    { RETAKE_S3_URL: s3.url, RETAKE_S3_KEY_ID: 'id', RETAKE_S3_SECRET: 'any' },
  )

beforeAll(async () => {
  s3 = await startFakeS3()
  blobs = new BlobStore(settings(), ServerKeys.open(folder))
})
afterAll(() => {
  s3.close()
  rmSync(folder, { recursive: true })
})

/** A file with random content, and its digest. */
function newFile(bytes: number): { readonly file: string; readonly digest: string } {
  const content = randomBytes(bytes)
  const digest = createHash('sha256').update(content).digest('hex')
  const file = path.join(folder, digest)
  writeFileSync(file, content)
  return { file, digest }
}

async function digestOf(bytes: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of bytes ?? []) hash.update(part)
  return hash.digest('hex')
}

test.each([0, 1000, 20 << 20])('a file of %s bytes comes back from a bucket', async (bytes) => {
  const { file, digest } = newFile(bytes)
  await blobs.putFile('acme', digest, file)
  expect(await digestOf(await blobs.readFile('acme', digest))).toBe(digest)
  expect(await blobs.files('acme')).toContain(digest)
})

test.each([1000, 20 << 20])(
  'a bucket that forgets a file of %s bytes is noticed',
  async (bytes) => {
    s3.behaviour = 'forgets'
    const { file, digest } = newFile(bytes)
    await expect(blobs.putFile('acme', digest, file)).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
    await expect(blobs.putRecord('acme', 'runs/p/one', {})).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
    expect(await probeStorage(settings(), 'probe/one')).toContain('does not have the object')
    s3.behaviour = 'honest'
  },
)

test('a bucket that returns other bytes is noticed', async () => {
  const { file, digest } = newFile(1000)
  await blobs.putFile('acme', digest, file)
  s3.behaviour = 'changes'
  const read = blobs.readFile('acme', digest).then(digestOf)
  await expect(read).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
  expect(await probeStorage(settings(), 'probe/two')).toContain('different content')
  s3.behaviour = 'honest'
})

test('a bucket that does not answer fails, and works again later', async () => {
  const { file, digest } = newFile(1000)
  s3.behaviour = 'hangs'
  const impatient = new BlobStore(settings(), ServerKeys.open(folder), { answerMs: 300 })
  await expect(impatient.putFile('acme', digest, file)).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
  })
  s3.behaviour = 'honest'
  await blobs.putFile('acme', digest, file)
  expect(await blobs.hasFile('acme', digest)).toBe(true)
  expect(await probeStorage(settings(), 'probe/three')).toBe(undefined)
})
