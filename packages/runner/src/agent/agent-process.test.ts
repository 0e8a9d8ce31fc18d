import { expect, test } from 'vitest'
import {
  hasTypeScriptLoader,
  ownPreloadLines,
  replayPermissions,
  takeFromNodeOptions,
  takePreloads,
} from './agent-process.js'

test('preloaded modules are taken out of the flags, in every form', () => {
  const flags = ['--no-warnings', '--import=./a.mjs', '-r', './b.cjs', '--require', 'dotenv/config']
  expect(takePreloads([...flags, '--import', './c.mjs', '--max-old-space-size=64'])).toEqual({
    flags: ['--no-warnings', '--max-old-space-size=64'],
    preloads: [
      { how: 'import', name: './a.mjs' },
      { how: 'require', name: './b.cjs' },
      { how: 'require', name: 'dotenv/config' },
      { how: 'import', name: './c.mjs' },
    ],
  })
})

test('loaders stay flags of Node', () => {
  const flags = [
    '--import=tsx',
    '--import',
    'tsx/esm',
    '--require=@swc-node/register',
    '--import=file:///app/node_modules/tsx/dist/loader.mjs',
  ]
  expect(takePreloads(flags)).toEqual({ flags, preloads: [] })
  expect(takePreloads(['--import=./tsx-setup.mjs']).preloads).toHaveLength(1)
})

test('NODE_OPTIONS is split as Node does', () => {
  const text = String.raw`--no-warnings --import "./my setup.mjs" --title="a \"b\" c"`
  expect(takeFromNodeOptions(text)).toEqual({
    text: String.raw`--no-warnings "--title=a \"b\" c"`,
    preloads: [{ how: 'import', name: './my setup.mjs' }],
  })
  expect(takeFromNodeOptions('--title="x y"').text).toBe('--title="x y"')
})

test('a module that NODE_OPTIONS loads into the command itself is named, a loader is not', () => {
  expect(ownPreloadLines('--import=./setup.mjs --no-warnings')).toEqual([
    expect.stringContaining('./setup.mjs into this command, outside of the run'),
  ])
  expect(ownPreloadLines('--import=tsx')).toEqual([])
})

test.each([
  [['--import=tsx'], '', true],
  [['--import', 'tsx/esm'], '', true],
  [['--loader=ts-node/esm'], '', true],
  [[], '--no-warnings --require "@swc-node/register"', true],
  [['--import=source-map-support/register'], '', false],
  [['--import=./tsx-setup.mjs'], '--title=tsx', false],
  [['--title', 'tsx'], '', false],
])(
  'a TypeScript loader of the user is found in %j and NODE_OPTIONS=%j: %s',
  (flags, text, found) => {
    expect(hasTypeScriptLoader(flags, { NODE_OPTIONS: text })).toBe(found)
  },
)

test.runIf(process.allowedNodeEnvironmentFlags.has('--permission'))(
  "a replay runs under Node's permission model, except with Yarn Plug'n'Play",
  () => {
    const flags = (options: string) =>
      replayPermissions('/tmp/x', { nodeArgs: [], env: { NODE_OPTIONS: options } })
    expect(flags('--require ./a.cjs')).toContain('--permission')
    expect(flags('--require /p/.pnp.cjs --experimental-loader file:///p/.pnp.loader.mjs')).toEqual(
      [],
    )
  },
)

test("modules that NODE_OPTIONS loads into the command are reported, except Yarn's resolver", () => {
  expect(ownPreloadLines('--require /p/.pnp.cjs')).toEqual([])
  expect(ownPreloadLines('--require /p/.pnp.cjs --import ./a.mjs')).toEqual([
    expect.stringContaining('also loaded ./a.mjs into'),
  ])
})
