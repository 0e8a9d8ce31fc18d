import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { integrations } from '../../packages/engine/src/integrations/list.js'
import { programs, testedElsewhere } from './programs.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, 'packages/engine/src/integrations')
const packages = integrations.map((integration) => integration.package)

test('every file of the folder is in the list, once', () => {
  const files = readdirSync(folder).filter(
    (file) => file.endsWith('.ts') && !['list.ts', 'integration.ts'].includes(file),
  )
  const imported = [
    ...readFileSync(join(folder, 'list.ts'), 'utf8').matchAll(/from '\.\/(.*)\.js'/g),
  ]
    .map(([, name]) => `${name}.ts`)
    .filter((file) => file !== 'integration.ts')
  expect(imported.toSorted()).toEqual(files.toSorted())
  expect(new Set(packages).size).toBe(files.length)
})

describe.each(integrations)('$package', ({ package: name, versions }) => {
  test('has an everyday program, or a test of its own', () => {
    const title = programs.find((program) => program.integrations?.includes(name))?.title
    const file = testedElsewhere[name]
    const isTested = title !== undefined || (file !== undefined && existsSync(join(root, file)))
    expect(isTested, `add a program with integrations: ['${name}']`).toBe(true)
  })

  test('names a range that includes the version in this repository', () => {
    const [, least] = /^>=(\d+(?:\.\d+)*)$/.exec(versions) ?? []
    expect(least, 'a range such as >=5').toBeDefined()
    const manifest = join(root, 'node_modules', name, 'package.json')
    if (!existsSync(manifest)) return
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }
    const order = version.localeCompare(least ?? '', 'en', { numeric: true })
    expect(order, `${version} is installed`).toBeGreaterThanOrEqual(0)
  })
})

test('no program and no test is for an integration that is gone', () => {
  const named = [
    ...programs.flatMap((program) => program.integrations ?? []),
    ...Object.keys(testedElsewhere),
  ]
  expect(named.filter((name) => !packages.includes(name))).toEqual([])
})
