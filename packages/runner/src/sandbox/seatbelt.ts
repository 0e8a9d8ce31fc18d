import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { outsideRuns } from '@retake/engine/hook'
import type { Confinement } from '@retake/runner/sandbox'

/**
 * The macOS sandbox, in addition to Node's permission model. It also covers native code, links that
 * lead out, and files of Retake inside the scope.
 *
 * Not tested on a Mac. It tests itself before its first use and is not used if the test fails. Not
 * promised: it does not block other programs that listen on this machine, nor system services that
 * are reached by Mach messages.
 */
export function seatbeltProfile({
  read,
  write,
  hidden,
  readOnly = [],
  network,
  code = [],
}: Confinement): string {
  const prefix = path.dirname(path.dirname(process.execPath))
  const readable = read && [...SYSTEM, prefix, ...code, ...read, ...(write ?? [])]
  const writable = write ?? read
  return [
    '(version 1)',
    '(allow default)',
    ...(readable
      ? [
          '(deny file-read*)',
          '(allow file-read-metadata)',
          rule('allow file-read*', readable),
          '(allow file-read* (literal "/"))',
        ]
      : []),
    ...(writable ? ['(deny file-write*)', rule('allow file-write*', [...writable, '/dev'])] : []),
    // The last matching rule decides.
    rule('deny file-read* file-write*', hidden),
    rule(
      'deny file-write*',
      readOnly.map(({ folder }) => folder),
    ),
    ...(network === 'closed'
      ? [
          '(deny network*)',
          // Needed to reach the guard.
          '(allow network* (local ip "localhost:*"))',
          '(allow network-outbound (remote ip "localhost:*"))',
        ]
      : []),
    // As in the permission model.
    '(deny process-fork)',
    '(deny process-exec*)',
    `(allow process-exec* (literal ${quoted(process.execPath)}))`,
    '(deny appleevent-send)',
    '(deny lsopen)',
  ]
    .filter((line) => line !== '')
    .join('\n')
}

const SYSTEM = [
  '/System',
  '/usr',
  '/bin',
  '/sbin',
  '/Library',
  '/dev',
  '/private/etc',
  '/private/var/db',
]

const rule = (what: string, folders: readonly string[]): string =>
  folders.length === 0
    ? ''
    : `(${what} ${[...new Set(folders)].map((each) => `(subpath ${quoted(each)})`).join(' ')})`

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

const SANDBOX_EXEC = '/usr/bin/sandbox-exec'
let works: boolean | undefined

/** Wraps `command` in a profile; returns it unchanged on systems without this sandbox. */
export function underSeatbelt(confinement: Confinement, command: readonly string[]): string[] {
  works ??= outsideRuns(testSeatbelt)
  return works ? [SANDBOX_EXEC, '-p', seatbeltProfile(confinement), ...command] : [...command]
}

/** Tests on this machine what the profile must allow and refuse. */
function testSeatbelt(): boolean {
  if (process.platform !== 'darwin' || !existsSync(SANDBOX_EXEC)) return false
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-seatbelt-')))
  try {
    const inside = path.join(folder, 'inside')
    mkdirSync(path.join(inside, 'hidden'), { recursive: true })
    for (const each of ['outside', 'inside/file', 'inside/hidden/file'])
      writeFileSync(path.join(folder, each), 'x')
    symlinkSync(path.join(folder, 'outside'), path.join(inside, 'link'))
    const profile = seatbeltProfile({
      read: [inside],
      write: [],
      hidden: [path.join(inside, 'hidden')],
      network: 'closed',
      cwd: inside,
    })
    const args = ['-p', profile, process.execPath, '-e', TEST, inside]
    return spawnSync(SANDBOX_EXEC, args, { timeout: 10_000 }).status === 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Exits with 0 only if it can read inside and do nothing else. */
const TEST = `
const fs = require('fs'), net = require('net'), inside = process.argv[1]
const isRefused = (work) => { try { work(); return false } catch (error) { return error.code === 'EPERM' } }
const isRight =
  fs.readFileSync(inside + '/file', 'utf8') === 'x' &&
  isRefused(() => fs.readFileSync(inside + '/../outside')) &&
  isRefused(() => fs.readFileSync(inside + '/link')) &&
  isRefused(() => fs.readFileSync(inside + '/hidden/file')) &&
  isRefused(() => fs.writeFileSync(inside + '/file', 'y')) &&
  isRefused(() => { throw require('child_process').spawnSync('/bin/echo').error })
const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1', () => {
  net.connect(server.address().port, '127.0.0.1', () => {
    net.connect(9, '192.0.2.1').on('error', ({ code }) => process.exit(isRight && code === 'EPERM' ? 0 : 1))
  }).on('error', () => process.exit(1))
}).on('error', () => process.exit(1))
setTimeout(() => process.exit(1), 3000)
`
