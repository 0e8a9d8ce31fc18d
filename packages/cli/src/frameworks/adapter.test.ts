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

test('retake can be installed beside any version of a framework', () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as {
    peerDependencies: Record<string, string>
    peerDependenciesMeta: Record<string, { optional: boolean }>
  }
  const peers = Object.entries(peerDependencies).filter(([name]) => !name.startsWith('@retake/'))
  expect(peers.length).toBeGreaterThan(4)
  const adapters = ['src/frameworks', 'src/test-runners', 'jest']
    .map((part) => fileURLToPath(new URL(`../../${part}`, import.meta.url)))
    .flatMap((part) => readdirSync(part).map((file) => join(part, file)))
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  // npm also resolves optional peers and their own peers, and refuses to install a package if one
  // of them conflicts. So only imported packages are peers, and adapters check versions themselves.
  for (const [name, range] of peers) {
    expect(peerDependenciesMeta[name]?.optional, name).toBe(true)
    expect(range, name).toBe('*')
    expect(adapters, `${name} is imported`).toMatch(
      new RegExp(String.raw`(?:from |import\(|require\()'${name}['/]`),
    )
  }
})
