import { describe, expect, test } from 'vitest'
import { attemptsOf, missingVariables, namedVariables, type TrialUses, useKey } from './attempts.js'
import type { Use } from './uses.js'

const before = ["import { save } from './save.mjs'", 'const a = read()', 'save(a)', ''].join('\n')
const after = before.replace('const a = read()', 'const a = read() + 1')

const CHANGED = '/copy/agent.mjs:2:5'
const UNCHANGED = '/copy/agent.mjs:3:1'

const use = (code: Use['code'], what: string, facts: Partial<Use> = {}): Use => ({
  code,
  what,
  sites: [CHANGED],
  nearest: 'agent',
  ...facts,
})

const tried = (uses: readonly Use[], more: Partial<TrialUses> = {}): string[] =>
  attemptsOf({
    uses,
    edits: [{ path: 'agent.mjs', before, after }],
    folders: ['/copy', '/home/project'],
    baseline: new Set(),
    knownText: before,
    hosts: new Set(['models.test', 'models.test:443']),
    ...more,
  }).map(useKey)

describe('a use is an attempt', () => {
  test('if a changed line makes it, or calls what makes it', () => {
    const helper = ['/copy/save.mjs:1:1', CHANGED]
    expect(tried([use('WRITE', '/etc/x', { sites: helper })])).toEqual(['WRITE /etc/x'])
    expect(tried([use('WRITE', '/etc/x', { sites: [UNCHANGED] })])).toEqual([])
  })

  test('if no line of the project made it, but not if a package did', () => {
    const facts = { sites: [], nearest: undefined }
    expect(tried([use('WRITE', '/etc/x', facts)])).toEqual(['WRITE /etc/x'])
    expect(tried([use('WRITE', '/etc/x', { sites: [], nearest: 'package' })])).toEqual([])
  })

  test('unless the unchanged code did the same, in a trial or from another line', () => {
    const key = useKey({ code: 'SPAWN', what: 'ls -l' })
    expect(tried([use('SPAWN', 'ls -l')])).toEqual([key])
    expect(tried([use('SPAWN', 'ls -l')], { baseline: new Set([key]) })).toEqual([])
    expect(tried([use('SPAWN', 'ls -l'), use('SPAWN', 'ls -l', { sites: [UNCHANGED] })])).toEqual(
      [],
    )
  })

  test('unless the code named its whole target before', () => {
    const knownText = "fetch('http://stock.test:8080/a'); writeFileSync('/var/out/a.json')"
    expect(tried([use('CONNECT', 'stock.test:8080')], { knownText })).toEqual([])
    expect(tried([use('CONNECT', 'stock.test:9090')], { knownText })).toHaveLength(1)
    expect(tried([use('WRITE', '/var/out/a.json')], { knownText })).toEqual([])
    expect(tried([use('WRITE', '/etc/out/a.json')], { knownText })).toHaveLength(1)
    expect(tried([use('CONNECT', 'models.test:443'), use('CONNECT', 'models.test')])).toEqual([])
  })

  test('in the project only if the file is protected', () => {
    const inside = (file: string) => tried([use('WRITE', `/copy/${file}`)])
    expect(inside('data/orders.json')).toEqual([])
    expect(inside('package.json')).toEqual(['WRITE_PROTECTED package.json'])
    expect(inside('test/agent.test.mjs')).toEqual(['WRITE_PROTECTED test/agent.test.mjs'])
    expect(inside('node_modules/openai/index.js')).toHaveLength(1)
    expect(tried([use('WRITE', '/home/project/data/a.json')])).toEqual([])
    expect(tried([use('WRITE', '/home/project/tsconfig.json')])).toHaveLength(1)
    expect(tried([use('WRITE', '/copy-of-another/a.json')])).toHaveLength(1)
  })

  test('for a variable only if the changed line reads it itself', () => {
    expect(tried([use('READ_VARIABLE', 'TOKEN')])).toEqual(['READ_VARIABLE TOKEN'])
    expect(tried([use('READ_VARIABLE', 'TOKEN', { nearest: 'package' })])).toEqual([])
    expect(tried([use('READ_VARIABLE', 'TOKEN', { sites: [UNCHANGED, CHANGED] })])).toEqual([])
    expect(tried([use('READ_VARIABLE', 'TOKEN')], { knownText: 'process.env.TOKEN' })).toEqual([])
  })

  test('once, if all variables are listed', () => {
    const uses = [use('READ_VARIABLE', '*'), use('READ_VARIABLE', 'A'), use('READ_VARIABLE', 'B')]
    expect(tried(uses)).toEqual(['READ_VARIABLE *'])
    const baseline = new Set(['READ_VARIABLE *'])
    expect(tried(uses, { baseline })).toEqual([])
  })
})

describe('a variable is missing', () => {
  const unset = use('READ_VARIABLE', 'WORLD', { sites: [UNCHANGED], isUnset: true })
  const missing = (text: string, uses = [unset]): string[] =>
    missingVariables(uses, [{ path: 'a.mjs', text }])

  test.each([
    "fetch(process.env.WORLD + '/a')",
    'fetch(`${process.env.WORLD}/a`)',
    "fetch(process.env['WORLD'])",
    'const { WORLD } = process.env',
  ])('in %s', (text) => {
    expect(missing(text)).toEqual(['WORLD'])
  })

  test.each([
    "fetch(process.env.WORLD ?? 'http://localhost')",
    'if (process.env.WORLD) use()',
    "use(process.env.WORLD === 'x')",
    'use(!process.env.WORLD)',
    "const { WORLD = 'x' } = process.env",
    'process.env.WORLD = 1',
    'use(process.env.OTHER)',
  ])('not in %s', (text) => {
    expect(missing(text)).toEqual([])
  })

  test('not if it is set, or if a package reads it', () => {
    const { isUnset: _, ...set } = unset
    expect(missing('use(process.env.WORLD)', [set])).toEqual([])
    expect(missing('use(process.env.WORLD)', [{ ...unset, nearest: 'package' }])).toEqual([])
  })
})

test('names of variables are found in members, in brackets and in patterns', () => {
  const text = "process.env.A + process.env['B_C']; const { D, E: e = 1 } = process.env; env.F"
  expect([...namedVariables(text)]).toEqual(['A', 'B_C', 'D', 'E'])
})
