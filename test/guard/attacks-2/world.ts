import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type GuardOptions, type GuardResult, guard, type GuardRun, presets } from '@retake/guard'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../../support/has-sandbox.js'

export const SECRET = 'TOP SECRET'

/** A folder that tools may use, a secret beside it, a guard, and the honest tools of an agent. */
export interface World {
  readonly folder: string
  readonly work: string
  readonly secret: string
  readonly run: GuardRun
  /** Arguments of every refund that was made. */
  readonly refunds: unknown[]
  readonly call: (tool: string, args: unknown) => Promise<GuardResult>
  /** Output of a shell in the work folder, errors included; the call itself must succeed. */
  readonly sh: (text: string) => Promise<string>
}

export type Setup = (at: { folder: string; work: string }) => Partial<GuardOptions>

export const sandboxed: Setup = ({ work }) => ({
  policy: presets.sandbox({
    root: work,
    programs: [
      ['sh', '-c', '*'],
      ['git', '-**'],
      ['npm', '-**'],
      ['make', '-**'],
      ['tar', '-**'],
    ],
  }),
})

export function makeWorld(setup: Setup = sandboxed): World {
  const folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'retake-attack-')))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  const work = join(folder, 'work')
  const secret = join(folder, 'secret.txt')
  fs.mkdirSync(work)
  fs.writeFileSync(secret, SECRET)
  fs.writeFileSync(join(work, 'inside.txt'), 'inside')
  const run = guard({
    name: 'attacks',
    dir: join(folder, 'tapes'),
    durability: 'process',
    ...setup({ folder, work }),
  })
  onTestFinished(() => void run.end())
  const refunds: unknown[] = []
  addFileTools(run, work)
  addOtherTools(run, work, refunds)
  const sh = async (text: string): Promise<string> => {
    const { output, error } = await run.call('sh', { text })
    expect(error).toBe(undefined)
    return String(output)
  }
  return { folder, work, secret, run, refunds, sh, call: (tool, args) => run.call(tool, args) }
}

interface PathArgs {
  readonly path: string
  readonly to: string
  readonly text: string
}

interface ArchiveEntry {
  readonly name: string
  readonly text?: string
  readonly link?: string
  readonly hardLink?: string
}

function addFileTools(run: GuardRun, work: string): void {
  const at = (path: string): string => resolve(work, path)
  run.tool('read', ({ path }: PathArgs) => fs.readFileSync(at(path), 'utf8'))
  run.tool('write', ({ path, text }: PathArgs) => fs.writeFileSync(at(path), text))
  run.tool('list', ({ path }: PathArgs) => fs.readdirSync(at(path)))
  run.tool('walk', ({ path }: PathArgs) => fs.readdirSync(at(path), { recursive: true }))
  run.tool('remove', ({ path }: PathArgs) => fs.rmSync(at(path), { recursive: true }))
  run.tool('move', ({ path, to }: PathArgs) => fs.renameSync(at(path), at(to)))
  run.tool('copy', ({ path, to }: PathArgs) =>
    fs.cpSync(at(path), at(to), { recursive: true, dereference: true }),
  )
  run.tool('link', ({ path, to }: PathArgs) => fs.symlinkSync(to, at(path)))
  run.tool('hard_link', ({ path, to }: PathArgs) => fs.linkSync(at(to), at(path)))
  run.tool('folder', ({ path }: PathArgs) => void fs.mkdirSync(at(path), { recursive: true }))
  run.tool('mode', ({ path }: PathArgs) => fs.chmodSync(at(path), 0o777))
  // As small unpackers do it: each entry in turn, wherever its name leads.
  run.tool('unpack', ({ entries }: { entries: ArchiveEntry[] }) => {
    for (const { name, text, link, hardLink } of entries)
      if (link !== undefined) fs.symlinkSync(link, at(name))
      else if (hardLink !== undefined) fs.linkSync(at(hardLink), at(name))
      else fs.writeFileSync(at(name), text ?? '')
  })
  run.tool('render', ({ text }: PathArgs) =>
    text.replaceAll(/\{\{include (.+?)\}\}/g, (_, name: string) =>
      fs.readFileSync(at(name), 'utf8'),
    ),
  )
}

function addOtherTools(run: GuardRun, work: string, refunds: unknown[]): void {
  const start = promisify(execFile)
  run.tool('sh', async ({ text }: { text: string }) => {
    try {
      const { stdout, stderr } = await start('sh', ['-c', text], { cwd: work })
      return stdout + stderr
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string }
      if (typeof code !== 'number') throw error
      return stdout + stderr
    }
  })
  run.tool('program', async ({ words: [file = '', ...args] }: { words: string[] }) => {
    const { stdout } = await start(file, args, { cwd: work })
    return stdout
  })
  run.tool('fetch', async ({ url, ...init }: { url: string } & RequestInit): Promise<string> =>
    (await fetch(url, init)).text(),
  )
  run.tool('refund', (args: unknown) => void refunds.push(args))
}

/** Files that were never inside are as they were, and nothing new is beside them. */
export function expectUntouched({ folder, secret }: World): void {
  expect(fs.readFileSync(secret, 'utf8')).toBe(SECRET)
  expect(fs.readdirSync(folder).filter((name) => name !== 'tapes')).toEqual(['secret.txt', 'work'])
}

/** The call had no result that holds the secret, and did not end well. */
export function expectRefused({ status, output }: GuardResult): void {
  expect({ status, leaks: String(output).includes(SECRET) }).toEqual({
    status: expect.stringMatching(/^(?:denied|stopped|failed)$/) as string,
    leaks: false,
  })
}

export interface Attack {
  readonly attack: () => void | Promise<void>
  readonly twin?: (() => void | Promise<void>) | undefined
  /** True if it is about the sandbox: there is nothing to attack without one. */
  readonly inSandbox?: boolean
  /** Why it is not refused, for one that the guard does not promise to refuse. */
  readonly notPromised?: string
}

/**
 * Two tests: the attack is refused, and its benign twin works. Attacks of one shape share the
 * twin of the first.
 */
export function attack(name: string, { attack, twin, inSandbox, notPromised }: Attack): void {
  describe.skipIf(inSandbox === true && !hasSandbox)(`an attacker: ${name}`, () => {
    const refused = notPromised === undefined ? test : test.fails
    // oxlint-disable-next-line vitest/expect-expect -- `attack` expects
    refused(`is ${notPromised === undefined ? '' : `not (${notPromised}) `}refused`, () => attack())
    // oxlint-disable-next-line vitest/expect-expect -- `works` expects
    for (const works of twin ? [twin] : []) test('its benign twin works', () => works())
  })
}

export interface Server {
  readonly port: number
  readonly endpoint: string
  readonly url: string
  /** Method and path of each request. */
  readonly hits: string[]
}

/** A server on the loopback for all tests of a file. Ports are known once tests run. */
export function shareServer(
  answer: (request: IncomingMessage) => string | URL = () => 'hello',
): Server {
  const hits: string[] = []
  const server = createServer((request, response) => {
    hits.push(`${request.method} ${request.url}`)
    const said = answer(request)
    if (said instanceof URL) response.writeHead(302, { location: said.href }).end()
    else response.end(said)
  })
  let port = 0
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await new Promise((done) => server.once('listening', done))
    ;({ port } = server.address() as AddressInfo)
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    hits,
    get port() {
      return port
    },
    get endpoint() {
      return `127.0.0.1:${port}`
    },
    get url() {
      return `http://127.0.0.1:${port}/`
    },
  }
}

/** True if a process on this machine was started with these words, at the end of its command line. */
export const isRunning = (words: string): boolean =>
  fs.readdirSync('/proc').some((pid) => {
    try {
      const line = /^\d+$/.test(pid) ? fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8') : ''
      return line.replaceAll('\0', ' ').trimEnd().endsWith(words)
    } catch {
      return false
    }
  })
