import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isHigher, publishOrder, withReleased, withVersion } from '../scripts/release.mjs'

test('packages are published after those they depend on', () => {
  const order: string[] = publishOrder()
  expect(order[0]).toBe('tape')
  expect(order.at(-1)).toBe('cli')
})

test('a new version reaches every package and its siblings, and nothing else', () => {
  const manifest =
    '{ "version": "0.1.0", "dependencies": { "@retake/tape": "0.1.0", "yaml": "0.1.0" } }'
  expect(withVersion(manifest, '0.1.0', '0.2.0')).toBe(
    '{ "version": "0.2.0", "dependencies": { "@retake/tape": "0.2.0", "yaml": "0.1.0" } }',
  )
  for (const folder of publishOrder()) {
    const path = new URL(`../packages/${folder}/package.json`, import.meta.url)
    const {
      name,
      version,
      dependencies = {},
    } = JSON.parse(withVersion(readFileSync(path, 'utf8'), '0.1.0', '9.9.9')) as {
      name: string
      version: string
      dependencies?: Record<string, string>
    }
    const siblings = Object.keys(dependencies).filter((each) => /^@?retake/.test(each))
    expect([version, ...siblings.map((each) => dependencies[each])], name).toEqual(
      Array.from({ length: siblings.length + 1 }, () => '9.9.9'),
    )
  }
})

test('unreleased changes get a version and a date; without changes there is no release', () => {
  expect(withReleased('# Changelog\n\n## Unreleased\n\n- A fix.\n', '0.2.0', '2026-12-01')).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-12-01)\n\n- A fix.\n',
  )
  expect(() => withReleased('## Unreleased\n\n## 0.1.0\n\n- Old.\n', '0.2.0', '')).toThrow(
    /nothing/,
  )
})

test('a version must be higher than the last one', () => {
  expect(isHigher('0.2.0', '0.1.9')).toBe(true)
  expect(isHigher('1.0.0', '1.0.0-rc.1')).toBe(true)
  for (const version of ['0.1.0', '0.0.9', 'v0.2.0', '1.0'])
    expect(isHigher(version, '0.1.0')).toBe(false)
})

test('nothing is published outside CI', () => {
  const script = fileURLToPath(new URL('../scripts/release.mjs', import.meta.url))
  const { ACTIONS_ID_TOKEN_REQUEST_URL: _, ...env } = process.env
  const { status, stderr } = spawnSync(process.execPath, [script, '--publish'], {
    env,
    encoding: 'utf8',
  })
  expect(stderr).toContain('id-token: write')
  expect(status).toBe(1)
})
