import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')
const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, LockedPackage>> }

/** Where Node would look for a dependency of the package at this path, nearest first. */
function placesFor(path: string, name: string): string[] {
  const folders = path.split('/node_modules/')
  return folders
    .map((_, index) => folders.slice(0, folders.length - index).join('/node_modules/'))
    .map((folder) => (folder === '' ? '' : `${folder}/`) + `node_modules/${name}`)
    .concat(`node_modules/${name}`)
}

test('npm ci works on every platform: the lock file has each optional binary', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !placesFor(path, name).some((place) => place in packages))
      .map(([name, version]) => `${path} wants ${name}@${version}`),
  )
  expect(missing, 'pin a version whose binaries are all in the registry').toEqual([])
})

test('the lock file contains no download address', () => {
  const addresses = Object.entries(packages)
    .filter(([, { resolved }]) => resolved?.startsWith('http'))
    .map(([path]) => path)
  expect(addresses, 'install with the .npmrc of this repository').toEqual([])
})
