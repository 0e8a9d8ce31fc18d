import type { Tape } from '@retake/tape'
import { expect, test } from 'vitest'
import { recordedPackages } from './install-packages.js'

const tape = {
  run: { scope: 'process' },
  details: { cwd: '/app', entry: 'src/agent.mjs' },
} as unknown as Tape
const contents = (files: Readonly<Record<string, string>>) =>
  new Map(Object.entries(files).map(([name, text]) => [`/app/${name}`, Buffer.from(text)]))

test.each([
  ['package-lock.json', '{}', /^npm ci --ignore-scripts --prefer-offline/],
  ['pnpm-lock.yaml', '', /^pnpm install --frozen-lockfile --ignore-scripts/],
  ['yarn.lock', '# yarn lockfile v1', /^yarn install --frozen-lockfile --ignore-scripts/],
  ['yarn.lock', '__metadata:', /^yarn install --immutable --mode=skip-build$/],
  ['src/package-lock.json', '{}', /^npm ci/],
])('%s with %j is installed without its scripts', (name, lock, expected) => {
  const { folder, command, args } = recordedPackages(tape, contents({ [name]: lock }))
  expect([command, ...args].join(' ')).toMatch(expected)
  expect(folder).toBe(name.startsWith('src/') ? '/app/src' : '/app')
})

test.each([
  [{}, 'No lock file was recorded.'],
  [{ 'package-lock.json': '{}', 'package.json': '{ "workspaces": ["a"] }' }, 'is a workspace'],
  [{ 'pnpm-lock.yaml': '', 'pnpm-workspace.yaml': '' }, 'is a workspace'],
])('%j cannot be installed: %s', (files, expected) => {
  expect(() => recordedPackages(tape, contents(files))).toThrow(expected)
})
