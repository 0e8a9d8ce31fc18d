import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { verbs } from '../../packages/cli/dist/verbs/index.js'
import {
  allErrors,
  commandReference,
  errorReference,
  serverPage,
} from '../../scripts/write-references.mjs'

const docs = new URL('../../docs/', import.meta.url)
const page = (name: string): string => readFileSync(new URL(name, docs), 'utf8')
const stories = readdirSync(new URL('errors', docs)).map((file) => basename(file, '.md'))
const errors = allErrors()

test('the references of errors, commands and settings match the source', async () => {
  expect(page('errors.md'), 'run node scripts/write-references.mjs').toBe(errorReference())
  expect(page('commands.md'), 'run node scripts/write-references.mjs').toBe(
    await commandReference(),
  )
  expect(page('server.md'), 'run node scripts/write-references.mjs').toBe(await serverPage())
})

test('every error says what, why and how to fix it', () => {
  expect(errors.length).toBeGreaterThan(200)
  const silent = errors.filter(({ what, file }) => what === '' && !file.includes('guard'))
  expect(silent).toEqual([])
})

test('a code has one text', () => {
  // The guard gives the same verdict for several reasons; tape has two edits that are not JSON.
  const counted = errors.filter(
    ({ code, file }) => !/guard|^tape/.test(file) && code !== 'POLICY_INVALID',
  )
  const twice = counted.filter(({ code }, at) =>
    errors.some((each, index) => each.code === code && each !== counted[at] && index >= 0),
  )
  expect(twice.map(({ code, file }) => `${code} in ${file}`)).toEqual([])
})

test('a page of an error says what happened, why and what to do', () => {
  const codes = new Set([
    ...errors.map(({ code }) => code),
    'JEST_ENVIRONMENT_MISSING',
    'POLICY_CHANGED',
  ])
  expect(stories.filter((code) => !codes.has(code))).toEqual([])
  for (const code of stories)
    expect(page(`errors/${code}.md`), code).toMatch(
      new RegExp(`^# ${code}\n\n[^]+\n## Why it happens\n\n[^]+\n## What to do\n\n[^]+\n$`),
    )
})

test('the commands that errors and pages name exist', () => {
  const texts = [page('errors.md'), ...stories.map((code) => page(`errors/${code}.md`))]
  const named = texts.flatMap((text) =>
    [...text.matchAll(/`retake ([a-z]+)[ `]/g)].map(([, name = '']) => name),
  )
  expect(named.filter((name) => !(name in verbs))).toEqual([])
  expect(existsSync(new URL('errors.md', docs))).toBe(true)
})
