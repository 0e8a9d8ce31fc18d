import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

interface Manifest {
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

test('docs/providers.md names the versions that are tested', () => {
  const workspace = JSON.parse(read('package.json')) as Manifest
  const newest = JSON.parse(read('test/newest/package.json')) as Manifest
  const rows = [...read('docs/providers.md').matchAll(/^\| `(\S+)` \| ([\d.–]+) \| ([\d.–]+) \|/gm)]
  const told = rows.map(([, name, version, latest]) => ({ name, version, latest }))
  expect(told.length).toBeGreaterThan(15)
  expect(told).toEqual(
    told.map(({ name = '' }) => ({
      name,
      version: workspace.devDependencies?.[name] ?? '–',
      latest: newest.dependencies?.[name] ?? '–',
    })),
  )
})

test('newest packages are installed from the registry only', () => {
  const lock = JSON.parse(read('test/newest/package-lock.json')) as {
    readonly packages: Readonly<Record<string, { readonly resolved?: string }>>
  }
  const addresses = Object.entries(lock.packages)
    .filter(([, { resolved }]) => resolved?.startsWith('http'))
    .map(([path]) => path)
  expect(addresses, 'install with the .npmrc of test/newest').toEqual([])
})
