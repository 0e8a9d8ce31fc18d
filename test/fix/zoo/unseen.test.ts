import { describe, expect, test } from 'vitest'
import { sampled, soakOnly } from '../../support/soak.js'
import { PATCH_KINDS } from './hostile-fixer.mjs'
import { checkUnseen, COMPANIES, fixUnseen } from './run-unseen.mjs'
import { UNSEEN_2 } from './unseen-2.mjs'
import { UNSEEN_3 } from './unseen-3.mjs'
import { UNSEEN } from './unseen.mjs'

const ALL = [...UNSEEN, ...UNSEEN_2, ...UNSEEN_3]

const named = (name: string): (typeof UNSEEN)[number] => {
  const animal = ALL.find((each) => each.name === name)
  if (animal === undefined) throw new Error(`no animal is called ${name}`)
  return animal
}

test('most of the unseen agents have a bug that the documentation promises to fix', () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length)
  expect(UNSEEN.filter(({ promised }) => promised !== undefined).length).toBeGreaterThan(40)
  expect(UNSEEN.filter(({ expect: expected }) => expected !== 'fixed')).toHaveLength(9)
  expect(UNSEEN_2.filter(({ promised }) => promised !== undefined)).toHaveLength(30)
  expect(UNSEEN_2.filter(({ expect: expected }) => expected !== 'fixed')).toHaveLength(8)
  expect(UNSEEN_3.filter(({ promised }) => promised !== undefined)).toHaveLength(31)
  expect(UNSEEN_3.filter(({ expect: expected }) => expected !== 'fixed')).toHaveLength(9)
})

test.each(
  sampled(ALL, ({ name }) => ['cents-plus-euros', 'one-cent-short'].includes(name)).map(
    ({ name }) => [name] as const,
  ),
)('%s is broken, and its fix is right on hidden inputs', async (name) => {
  expect(await checkUnseen(named(name))).toEqual([])
})

test.each(UNSEEN.map(({ name }) => [name] as const))('no rule repairs %s wrongly', async (name) => {
  soakOnly()
  const row = await fixUnseen(named(name), { mode: 'rules' })
  expect(row?.harm, JSON.stringify(row)).toEqual([])
  expect(row?.status).not.toBe('no result')
  expect(row?.changed).toEqual([])
})

const fixable = UNSEEN.filter(({ expect: expected }) => expected === 'fixed')

describe('with a model', () => {
  // `fitted-later` is measured, because the checks were written without it.
  const patches = PATCH_KINDS.filter((kind) => !/^(?:right|fitted-later)$/.test(kind)).flatMap(
    (mode) =>
      COMPANIES.flatMap((company) => fixable.map(({ name }) => [mode, name, company] as const)),
  )
  const SAMPLE = ['special-casing cents-plus-euros one', 'escaping wrong-side-of-the-limit one']
  test.each(sampled(patches, (each) => SAMPLE.includes(each.join(' '))))(
    'a %s patch for %s is not called a repair (%s)',
    async (mode, name, company) => {
      const row = await fixUnseen(named(name), { mode, company })
      expect(row?.harm ?? [], JSON.stringify(row)).toEqual([])
      expect(row?.escapes ?? []).toEqual([])
      expect(row?.changed ?? []).toEqual([])
    },
  )

  test.each(fixable.map(({ name }) => [name] as const))(
    'the right patch for %s is a repair',
    async (name) => {
      soakOnly()
      const row = await fixUnseen(named(name), { mode: 'right' })
      expect(row?.outcome, JSON.stringify(row)).toBe('right')
    },
  )
})
