import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tapeBytes } from '../../../../test/support/tape-bytes.js'
import { RunStore } from '@retake/runner/runs'
import { TeamClient } from './team-client.js'
import { pullRun } from './transfer-runs.js'

/** The tape of `run-1`. */
const tape = Buffer.from(tapeBytes([], { sealed: true }).bytes)
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const fileOf = (name: unknown, content = tape, more: object = {}) => ({
  name,
  digest: digestOf(content),
  bytes: content.length,
  link: `blobs/${content.toString('base64url')}`,
  ...more,
})
const runOf = (files: unknown, parent: unknown = null) => ({ run: { parent }, files })
const own = fileOf('run-1.tape')

/** Sends until nobody reads any more, but at most 64 MB. */
function sendEndlessly(response: ServerResponse): void {
  const chunk = Buffer.alloc(1 << 20, ' ')
  let left = 64
  const more = (): void => {
    while (left-- > 0) if (!response.write(chunk)) return void response.once('drain', more)
    response.end()
  }
  more()
}

const folder = mkdtempSync(path.join(tmpdir(), 'retake-hostile-'))
let answer: ((id: string) => unknown) | 'endless'
const server = createServer((request, response) => {
  const [, blob] = /\/blobs\/(.*)/.exec(request.url ?? '') ?? []
  if (blob === 'endless' || (blob === undefined && answer === 'endless'))
    return sendEndlessly(response)
  if (blob !== undefined || answer === 'endless')
    return void response.end(Buffer.from(blob ?? '', 'base64url'))
  const value = answer(decodeURIComponent(request.url?.split('/').at(-1) ?? ''))
  response.end(typeof value === 'string' ? value : JSON.stringify(value))
})
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

let runs = ''
function pull(id: string) {
  // `../` leads into a folder that must stay as it is.
  rmSync(path.join(folder, 'a'), { recursive: true, force: true })
  runs = path.join(folder, 'a', 'b', 'runs')
  mkdirSync(runs, { recursive: true })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const source = { server: url, org: 'acme', project: 'refunds', key: 'none' }
  return pullRun(new TeamClient(url, 'none'), source, id, new RunStore(runs))
}

const filesBelow = (where: string): string[] =>
  readdirSync(where, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== '.gitignore')
    .map((entry) => path.relative(where, path.join(entry.parentPath, entry.name)))

const FILE = 'TEAM_FILE_INVALID'
const ANSWER = 'TEAM_ANSWER_INVALID'
const other = Buffer.from('{"a":1}\n')
const long = 'x'.repeat(300)
const bytes = (file: object, more: object) => runOf([{ ...file, ...more }])

test.each<[string, typeof answer, string]>([
  ['a name with ../', () => runOf([own, fileOf('run-1.children/../../x.tape')]), FILE],
  ['another name with ../', () => runOf([own, fileOf('../run-1.tape')]), FILE],
  ['an absolute path', () => runOf([own, fileOf('/tmp/retake-outside.tape')]), FILE],
  ['a name with NUL', () => runOf([own, fileOf('run-1.children/a\0.tape')]), FILE],
  ['a very long name', () => runOf([own, fileOf(`run-1.children/${long}.tape`)]), FILE],
  ['a name that is none', () => runOf([own, fileOf(['run-1.tape'])]), ANSWER],
  ['a file that is no tape', () => runOf([own, fileOf('run-1.children/a.sh')]), FILE],
  ['the index of the folder', () => runOf([own, fileOf('index.jsonl')]), FILE],
  ['the same file twice', () => runOf([own, own]), ANSWER],
  ['no tape', () => runOf([]), ANSWER],
  ['no list of files', () => runOf({ length: 1 }), ANSWER],
  ['a file that is null', () => runOf([null]), ANSWER],
  ['null', () => null, ANSWER],
  ['text', () => '<html>', ANSWER],
  ['deep JSON', () => '['.repeat(100_000), ANSWER],
  ['a parent with ../', () => runOf([own], '../run-0'), FILE],
  ['a parent with NUL', () => runOf([own], 'run-0\0'), FILE],
  ['a very long parent', () => runOf([own], long), FILE],
  ['a parent that is an object', () => runOf([own], {}), ANSWER],
  ['itself as its parent', () => runOf([own], 'run-1'), FILE],
  [
    'ever more parents',
    (id) => runOf([fileOf(`${id}.tape`)], `${id.split('.')[0]}.${Math.random()}`),
    ANSWER,
  ],
  ['something else as the tape', () => runOf([fileOf('run-1.tape', other)]), 'TAPE_NOT_A_TAPE'],
  ['nothing as the tape', () => runOf([fileOf('run-1.tape', Buffer.alloc(0))]), 'TAPE_EMPTY'],
  ['another digest', () => bytes(own, { digest: digestOf(other) }), FILE],
  ['fewer bytes than announced', () => bytes(own, { bytes: 1e12 }), FILE],
  ['a size that is none', () => bytes(own, { bytes: -1 }), ANSWER],
  ['an endless file', () => bytes(own, { link: 'blobs/endless' }), FILE],
  ['an endless answer', 'endless', ANSWER],
])('a server that sends %s is refused, and nothing is written', async (_, hostile, code) => {
  answer = hostile
  await expect(pull('run-1')).rejects.toMatchObject({ code })
  expect(filesBelow(folder)).toEqual([])
  expect(existsSync('/tmp/retake-outside.tape')).toBe(false)
})

test('the tape of another run is refused', async () => {
  answer = () => runOf([fileOf('run-2.tape')])
  await expect(pull('run-2')).rejects.toMatchObject({ code: FILE })
  expect(filesBelow(folder)).toEqual([])
})

test('a run and the tapes of its children are fetched', async () => {
  const code = fileOf('run-1.code.tar.gz', other)
  answer = () => runOf([own, fileOf('run-1.children/run-2.tape'), code])
  expect(await pull('run-1')).toEqual([{ run: 'run-1', outcome: 'fetched' }])
  expect(filesBelow(runs).toSorted()).toEqual(['run-1.children/run-2.tape', 'run-1.tape'])
})
