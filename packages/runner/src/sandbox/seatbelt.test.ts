import path from 'node:path'
import { expect, test } from 'vitest'
import { seatbeltProfile, underSeatbelt } from './seatbelt.js'

const confinement = { hidden: [], network: 'open', cwd: '/project' } as const
const linesOf = (options: object): string[] =>
  seatbeltProfile({ ...confinement, ...options }).split('\n')

test('a profile allows the folders of the scope, and nothing else', () => {
  const lines = linesOf({
    read: ['/project/data'],
    write: ['/project/out'],
    code: ['/project/tool.mjs'],
  })
  const read = lines.find((line) => line.startsWith('(allow file-read* (subpath'))
  for (const each of ['/project/data', '/project/out', '/project/tool.mjs', '/usr'])
    expect(read).toContain(`(subpath "${each}")`)
  expect(read).toContain(`(subpath "${path.dirname(path.dirname(process.execPath))}")`)
  expect(read).not.toContain('(subpath "/")')
  expect(lines.indexOf('(deny file-read*)')).toBeLessThan(lines.indexOf(read ?? ''))
  expect(lines.slice(lines.indexOf('(deny file-write*)')).slice(0, 2)).toEqual([
    '(deny file-write*)',
    '(allow file-write* (subpath "/project/out") (subpath "/dev"))',
  ])
})

test('files of the guard are refused after everything that is allowed', () => {
  const lines = linesOf({ read: ['/project'], hidden: ['/project/.retake'] })
  const refused = lines.indexOf('(deny file-read* file-write* (subpath "/project/.retake"))')
  expect(refused).toBeGreaterThan(lines.findLastIndex((line) => line.startsWith('(allow file')))
})

test('without a file scope, everything but files of the guard is open', () => {
  const lines = linesOf({ hidden: ['/project/.retake'] })
  expect(lines.filter((line) => line.startsWith('(deny file'))).toEqual([
    '(deny file-read* file-write* (subpath "/project/.retake"))',
  ])
})

test('a tool without write folders can write only what it can read, or nothing', () => {
  expect(linesOf({ read: ['/project'] })).toContain(
    '(allow file-write* (subpath "/project") (subpath "/dev"))',
  )
  expect(linesOf({ read: ['/project'], write: [] })).toContain(
    '(allow file-write* (subpath "/dev"))',
  )
})

test('a closed network leaves only this machine', () => {
  const network = (options: object): string[] =>
    linesOf(options).filter((line) => line.includes('network'))
  expect(network({})).toEqual([])
  expect(network({ network: 'closed' })).toEqual([
    '(deny network*)',
    '(allow network* (local ip "localhost:*"))',
    '(allow network-outbound (remote ip "localhost:*"))',
  ])
})

test('no program starts but Node', () => {
  expect(linesOf({}).filter((line) => line.includes('process'))).toEqual([
    '(deny process-fork)',
    '(deny process-exec*)',
    `(allow process-exec* (literal "${process.execPath}"))`,
  ])
})

test('a name cannot end its text in the profile', () => {
  expect(linesOf({ hidden: ['/a") (allow default) ("\\'] })).toContain(
    String.raw`(deny file-read* file-write* (subpath "/a\") (allow default) (\"\\"))`,
  )
})

test.skipIf(process.platform === 'darwin')('other systems start the command as it is', () => {
  expect(underSeatbelt(confinement, ['node', 'x.js'])).toEqual(['node', 'x.js'])
})
