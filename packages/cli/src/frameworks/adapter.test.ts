import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { requireVersion } from './adapter.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retake-version-'))
  vi.spyOn(process, 'cwd').mockReturnValue(folder)
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

const installed = (version: string) => {
  const home = join(folder, 'node_modules', 'made-up-framework')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), JSON.stringify({ version }))
}
const check = () => requireVersion({ package: 'made-up-framework', from: '1.4', to: '2' })

test.each(['1.4.0', '1.10.3', '2.0.0', '2.99.1', '2.0.0-beta.3'])('%s is supported', (version) => {
  installed(version)
  expect(check).not.toThrow()
})

test.each(['1.3.9', '0.9.0', '3.0.0', '10.1.0'])('%s is refused with the range', (version) => {
  installed(version)
  expect(check).toThrow(
    expect.objectContaining({
      code: 'FRAMEWORK_NOT_SUPPORTED',
      message: expect.stringMatching(/made-up-framework .*1\.4 to 2\.x/),
    }),
  )
})

test('a framework that is not found is not checked', () => {
  expect(check).not.toThrow()
})

test('adapters know the versions that the manifest of retake asks for', () => {
  const peers = (
    JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      peerDependencies: Record<string, string>
    }
  ).peerDependencies
  const here = fileURLToPath(new URL('.', import.meta.url))
  const sources = readdirSync(here, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(here, name), 'utf8'))
  const known = sources.flatMap((source) => [
    ...source.matchAll(/\{ package: '(.+?)', from: '([\d.]+)', to: '(\d+)' \}/g),
  ])
  expect(known.length).toBeGreaterThan(8)
  for (const [, name = '', from = '', to] of known)
    expect(`${name} ${peers[name]}`).toBe(
      `${name} >=${from.replace(/\.0$/, '')} <${Number(to) + 1}`,
    )
})
