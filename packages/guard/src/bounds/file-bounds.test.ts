import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fileBounds } from './file-bounds.js'
import { resolvePath } from '@retake/runner/sandbox'

let base: string
let root: string
beforeAll(() => {
  base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'retake-bounds-')))
  root = path.join(base, 'root')
  fs.mkdirSync(path.join(root, 'docs'), { recursive: true })
  fs.writeFileSync(path.join(root, 'docs', 'guide.md'), '')
  fs.writeFileSync(path.join(base, 'secret.txt'), '')
  fs.symlinkSync('../secret.txt', path.join(root, 'link'))
})
afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

const sandbox = () => fileBounds('p', { read: [root], write: [root] })

describe('arguments that do not leave the root', () => {
  const prose = 'A line with and/or, 1/2, ../README, /etc/passwd and C:\\Windows in it.\n'.repeat(
    80,
  )
  test.each([
    'and/or',
    '1/2',
    '24/7',
    'N/A',
    'w/o',
    'TCP/IP',
    'see ../README',
    'see ../../README for more.',
    '../../README says so',
    '/help',
    '/',
    '//',
    '// a comment',
    '/etc',
    '/api/v1/users',
    '/api/v1/users/7.json',
    '/home',
    '/home/dashboard',
    '/etc/passwd is a file of users',
    '/users?sort=name&page=2',
    '/^[a-z]+$/i',
    '//cdn.example.com/lib.js',
    '12/31/2026',
    '2026/11/15',
    '2026-11-15T10:00:00Z',
    '3.14',
    '1..5',
    'HEAD~1..HEAD',
    '...',
    'src/.../index.ts',
    'and so on...',
    'text/html; charset=utf-8',
    'application/json',
    'https://example.com/../../etc/passwd',
    'http://example.com/a?b=../../c',
    's3://bucket/../key',
    'data:text/plain;base64,Li4vLi4vZXRj',
    'mailto:a@example.com',
    'urn:isbn:0451450523',
    'npm:@scope/name',
    '@scope/name',
    'owner/repo',
    'origin/main',
    '[guide](../../../docs/guide.md)',
    '![picture](../../../a.png)',
    '<img src="../../../a.png">',
    '`../../../a`',
    '{"path":"../../../a"}',
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0a',
    'iVBORw0KGgo/AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    '~5 minutes',
    '~100',
    'file',
    'file: report.pdf',
    'file:report',
    '100%',
    '50%2F50',
    'a%2Fb%2Fc',
    'caf\u00e9 \u2044 bar',
    '1\u20442',
    '\u2026and more',
    'wait\u2026',
    'Smith & Co. ',
    'Done.',
    'a\tb',
    String.raw`\d+\s*\/\s*\d+`,
    String.raw`\alpha\beta`,
    String.raw`\\d`,
    'T:30',
    'key: value',
    'note: see ../README',
    'h\0e\0l\0l\0o\0',
    '\0\u0001\u0002/\ufffd',
    'docs/guide.md',
    './docs/guide.md',
    'docs/../docs/guide.md',
    'docs/new file.md',
    'new.md',
    '',
    ' ',
    prose,
    prose.replaceAll('\n', ' '),
  ])('%j is allowed', (text) => {
    expect(sandbox().inspect(text, 'text')).toBe(undefined)
  })
})

test('a denial says which argument, which rule, why, and what would be allowed', () => {
  expect(sandbox().inspect('../secret.txt', 'files.0.name')).toEqual({
    code: 'PATH_TRAVERSAL',
    rule: 'p/files',
    what: 'The argument "files.0.name" contains the path "../secret.txt".',
    why: 'It leads out of the folders that the policy allows.',
    allowed: `Files below ${root} may be read.`,
    fields: { path: '../secret.txt' },
  })
  expect(sandbox().check('write', path.join(base, 'secret.txt'))).toEqual({
    code: 'PATH_OUTSIDE_ROOT',
    rule: 'p/files',
    what: `The tool tried to write "${path.join(base, 'secret.txt')}".`,
    why: 'It is outside of the folders that the policy allows.',
    allowed: `Files below ${root} may be written.`,
    fields: { path: path.join(base, 'secret.txt') },
  })
})

test('a plain name is refused when it is a link that leads out', () => {
  expect(sandbox().inspect('link', 'name')?.code).toBe('PATH_SYMLINK_ESCAPE')
  expect(sandbox().inspect('docs', 'name')).toBe(undefined)
})

test('a missing list allows everything, an empty one nothing', () => {
  const secret = path.join(base, 'secret.txt')
  const readOnly = fileBounds('p', { write: [] })
  expect(readOnly.check('read', secret)).toBe(undefined)
  expect(readOnly.inspect(secret, 'path')).toBe(undefined)
  expect(readOnly.check('write', path.join(root, 'new'))?.code).toBe('WRITE_NOT_ALLOWED')
  expect(fileBounds('p', {}).check('write', secret)).toBe(undefined)
})

test('a root that is replaced by another folder is followed', () => {
  const entrance = path.join(base, 'entrance')
  fs.symlinkSync(root, entrance)
  const bounds = fileBounds('p', { read: [entrance] })
  expect(bounds.check('read', path.join(root, 'docs'))).toBe(undefined)
  const other = path.join(base, 'other')
  fs.mkdirSync(other)
  fs.unlinkSync(entrance)
  fs.symlinkSync(other, entrance)
  expect(bounds.check('read', path.join(other, 'new.txt'))).toBe(undefined)
  expect(bounds.check('read', path.join(root, 'docs'))?.code).toBe('PATH_OUTSIDE_ROOT')
})

test('a root that does not exist yet may be made', () => {
  const later = path.join(base, 'later')
  const bounds = fileBounds('p', { read: [later], write: [later] })
  expect(bounds.check('write', later)).toBe(undefined)
  expect(bounds.check('write', path.join(later, 'a', 'b'))).toBe(undefined)
  expect(bounds.check('write', path.join(base, 'later-on'))?.code).toBe('PATH_OUTSIDE_ROOT')
})

test('a path is followed as the system follows it', () => {
  fs.symlinkSync('../root/docs', path.join(root, 'around'))
  const real = (given: string) => resolvePath(given, { from: root })?.real
  expect(real('around/../link')).toBe(path.join(base, 'secret.txt'))
  expect(real('around/guide.md')).toBe(path.join(root, 'docs', 'guide.md'))
  expect(real('nothing/../docs')).toBe(path.join(root, 'docs'))
  expect(real('around/new/file')).toBe(path.join(root, 'docs', 'new', 'file'))
  expect(resolvePath('link', { from: root, follow: false })?.real).toBe(path.join(root, 'link'))
  expect(real('/')).toBe('/')
})
