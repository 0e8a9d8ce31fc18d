import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readSettings, reindex } from '@retake/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverParts } from '../../packages/cli/dist/team/server-parts.js'
import '../../packages/cli/dist/verbs/index.js'
import { BlobStore, probeStorage } from '../../packages/server/dist/storage/blob-store.js'
import { ServerKeys } from '../../packages/server/dist/storage/server-keys.js'
import {
  createOrganization,
  type Credentials,
  pushTape,
  startTeam,
  type Team,
  writeRun,
} from './support/api-team.js'

/**
 * A real S3 server. Build it with `go install github.com/versity/versitygw/cmd/versitygw@latest`;
 * the tests start, kill and restart it themselves:
 *
 *     RETAKE_TEST_VERSITYGW=$HOME/go/bin/versitygw \
 *       npx vitest run --project=system test/server/s3.test.ts
 */
const program = process.env['RETAKE_TEST_VERSITYGW'] ?? ''
const KEY = { id: 'retake', secret: 'any text' }
const outer = mkdtempSync(path.join(tmpdir(), 'retake-s3-'))
let port = 0
let gateway: ChildProcess

const settingsOf = (secret = KEY.secret): Readonly<Record<string, string>> => ({
  RETAKE_S3_URL: `http://127.0.0.1:${port}/bucket`,
  RETAKE_S3_REGION: 'us-east-1',
  RETAKE_S3_KEY_ID: KEY.id,
  RETAKE_S3_SECRET: secret,
})

async function startGateway(): Promise<void> {
  const folders = [path.join(outer, 'objects'), path.join(outer, 'attributes')]
  for (const each of [path.join(outer, 'objects', 'bucket'), ...folders])
    mkdirSync(each, { recursive: true })
  const [objects = '', attributes = ''] = folders
  const access = ['--access', KEY.id, '--secret', KEY.secret]
  // Not every file system has extended attributes.
  const backend = ['posix', '--sidecar', attributes, objects]
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', ...access, ...backend]
  gateway = spawn(program, args, { stdio: 'ignore' })
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
  for (let count = 0; !(await isUp()); count++) {
    if (count > 400) throw new Error('versitygw did not start')
    await pause(50)
  }
}

async function killGateway(): Promise<void> {
  const ended = once(gateway, 'exit')
  gateway.kill('SIGKILL')
  await ended
}

/** A file with random content, and its digest. */
function newFile(bytes: number): { readonly file: string; readonly digest: string } {
  const content = randomBytes(bytes)
  const digest = createHash('sha256').update(content).digest('hex')
  const file = path.join(outer, digest)
  writeFileSync(file, content)
  return { file, digest }
}

async function digestOf(bytes: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of bytes ?? []) hash.update(part)
  return hash.digest('hex')
}

describe.skipIf(program === '')('with versitygw', () => {
  let blobs: BlobStore
  beforeAll(async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    ;({ port } = free.address() as AddressInfo)
    free.close()
    await startGateway()
    const data = path.join(outer, 'keys')
    mkdirSync(data)
    blobs = new BlobStore(readSettings({ data }, settingsOf()), ServerKeys.open(data))
  })
  afterAll(async () => {
    await killGateway()
    rmSync(outer, { recursive: true, force: true })
  })

  test.each([0, 1000, 20 << 20, 200 << 20])(
    'a file of %s bytes comes back, and can be removed',
    async (bytes) => {
      const { file, digest } = newFile(bytes)
      await blobs.putFile('acme', digest, file)
      expect(await digestOf(await blobs.readFile('acme', digest))).toBe(digest)
      expect(await blobs.files('acme')).toContain(digest)
      await blobs.removeFile('acme', digest)
      expect(await blobs.hasFile('acme', digest)).toBe(false)
      expect(await blobs.readFile('acme', digest)).toBe(undefined)
    },
  )

  test('more objects than one answer has are all listed', async () => {
    const names = Array.from({ length: 1200 }, (_, index) => `runs/p/run-${index}`)
    for (let at = 0; at < names.length; at += 20)
      await Promise.all(names.slice(at, at + 20).map((name) => blobs.putRecord('many', name, {})))
    expect(new Set(await blobs.records('many', 'runs'))).toEqual(new Set(names))
  })

  test('a wrong secret is reported', async () => {
    const data = path.join(outer, 'keys')
    expect(await probeStorage(readSettings({ data }, settingsOf()), 'probe/one')).toBe(undefined)
    const wrong = readSettings({ data }, settingsOf('another'))
    expect(await probeStorage(wrong, 'probe/two')).toMatch(/SignatureDoesNotMatch|403/)
    const denied = new BlobStore(wrong, ServerKeys.open(data))
    await expect(denied.hasFile('acme', '0'.repeat(64))).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
  })

  test('an upload in parts that a crash of the store interrupts can be repeated', async () => {
    const { file, digest } = newFile(100 << 20)
    const writing = blobs.putFile('acme', digest, file).then(
      () => 'done',
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    )
    await pause(150)
    await killGateway()
    expect(await writing).toBe('STORAGE_FAILED')
    await startGateway()
    expect(await blobs.hasFile('acme', digest)).toBe(false)
    await blobs.putFile('acme', digest, file)
    expect(await digestOf(await blobs.readFile('acme', digest))).toBe(digest)
  })

  test('pushed runs survive a crash of the store, and a new index', async () => {
    const tapes = path.join(outer, 'tapes')
    mkdirSync(tapes)
    let team: Team = await startTeam(settingsOf())
    const { owner } = await createOrganization(team, 'acme')
    await team.request(owner, 'POST', '/api/v1/acme/projects', { slug: 'refunds' })
    const push = (tape: string) => pushTape(team, owner, ['acme', 'refunds'], tape)
    const newTape = (id: string, words = 10): string =>
      writeRun(tapes, id, `${id} ${filler(words)}`)
    const digests = async (as: Credentials): Promise<Record<string, string>> => {
      const found: Record<string, string> = {}
      for (const id of ['small', 'large', 'later']) {
        const run = await team.request(as, 'GET', `/api/v1/acme/projects/refunds/runs/${id}`)
        const [file] = run.json<{ files: { link: string; digest: string }[] }>().files
        const content = await fetch(`${team.server.url}/api/v1/${file?.link}`)
        const bytes = Buffer.from(await content.arrayBuffer())
        found[id] = createHash('sha256').update(bytes).digest('hex')
        expect(found[id], id).toBe(file?.digest)
      }
      return found
    }
    expect((await push(newTape('small'))).status).toBe(201)
    const large = await push(newTape('large', 500_000))
    expect(large.status, large.text).toBe(201)
    await killGateway()
    const later = newTape('later')
    const refused = await push(later)
    expect(refused.status, refused.text).toBe(503)
    expect(refused.text).toContain('STORAGE_FAILED')
    expect((await team.request({}, 'GET', '/healthz')).status).toBe(200)
    await startGateway()
    expect((await push(later)).status).toBe(201)
    const before = await digests(owner)
    await team.server.close()
    const { data } = team
    // Neither copies nor index: everything comes from the bucket.
    rmSync(path.join(data, 'cache'), { recursive: true })
    const [indexed] = await reindex(readSettings({ data }, settingsOf()), await serverParts())
    expect(indexed).toMatchObject({ runs: 3, problems: [] })
    team = await startTeam(settingsOf(), data)
    expect(await digests(owner)).toEqual(before)
    await team.close()
  })
})

/** Words that do not compress. */
const filler = (words: number): string =>
  Array.from({ length: words }, () => Math.floor(Math.random() * 1e9).toString(36)).join(' ')
