import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { optionsOf, ownArguments, type Verb } from '../../packages/runner/dist/command-line/verb.js'
import { verbEntries, findVerb } from '../../packages/runner/dist/command-line/find-verb.js'
import { verbs } from '../../packages/cli/dist/verbs/index.js'
import {
  allErrors,
  commandReference,
  errorReference,
  serverPage,
} from '../../scripts/write-references.mjs'
import { architecturePage, problemsOfFolders } from '../../scripts/where-to-look.mjs'

const docs = new URL('../../docs/', import.meta.url)
const page = (name: string): string => readFileSync(new URL(name, docs), 'utf8')
const stories = readdirSync(new URL('errors', docs)).map((file) => basename(file, '.md'))
const errors = allErrors()

test('the references of errors, commands and settings match the source', async () => {
  expect(page('errors.md'), 'run node scripts/write-references.mjs').toBe(errorReference())
  expect(page('commands.md'), 'run node scripts/write-references.mjs').toBe(
    await commandReference(),
  )
  expect(page('server-reference.md'), 'run node scripts/write-references.mjs').toBe(
    await serverPage(),
  )
})

test('every source folder says what it is for, and ARCHITECTURE.md lists them', () => {
  expect(problemsOfFolders()).toEqual([])
  expect(page('../ARCHITECTURE.md'), 'run node scripts/write-references.mjs').toBe(
    architecturePage(),
  )
})

test('every error says what, why and how to fix it', () => {
  expect(errors.length).toBeGreaterThan(200)
  const silent = errors.filter(({ what, file }) => what === '' && !file.includes('guard'))
  expect(silent).toEqual([])
})

test('a code has one text', () => {
  // Tape has two edits that are not JSON.
  const counted = errors.filter(({ file }) => !file.startsWith('tape'))
  const twice = counted.filter(({ code }, at) =>
    errors.some((each, index) => each.code === code && each !== counted[at] && index >= 0),
  )
  expect(twice.map(({ code, file }) => `${code} in ${file}`)).toEqual([])
  // A denial is data for programs: its code says which of several cases it is.
  const mixed = errors.filter(
    ({ file, what, why, fix }) =>
      file.startsWith('guard') && `${what}\n${why}\n${fix}`.includes(' Or: '),
  )
  expect(mixed.map(({ code }) => code)).toEqual([])
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

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Sources and pages in which Retake names its own commands. */
function textsWithCommands(): (readonly [file: string, text: string])[] {
  const sources = readdirSync(join(root, 'packages'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^\w+\/(?:src|demo|sample)\/.*\.tsx?$/.test(file))
    .filter((file) => !/\.test\.tsx?$/.test(file))
    .map((file) => join('packages', file))
  const pages = ['', 'docs', 'docs/errors'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md')
      .map((file) => join(folder, file)),
  )
  return [...sources, ...pages].map((file) => [file, readFileSync(join(root, file), 'utf8')])
}

/** Retired and unknown names have none. */
function commandNamed(words: readonly string[]) {
  try {
    return findVerb(verbs, words.length === 1 ? [...words, '--help'] : words)
  } catch {
    return { name: '', args: [] }
  }
}

test('every command that Retake advises exists, with the options that it names', async () => {
  const optionsByVerb = new Map<string, { names: Set<string>; verb: Verb }>()
  for (const [name, { load }] of verbEntries(verbs)) {
    if (load === undefined) continue
    const { default: verb } = await load()
    const names = optionsOf(verb).flatMap(([spec]) => spec.match(/--[\w-]+/g) ?? [])
    optionsByVerb.set(name, { names: new Set(names), verb })
  }
  const wrong: string[] = []
  for (const [file, text] of textsWithCommands()) {
    // A command in backticks, quotes or a code block ends with them, with its line or a comment.
    const isPage = file.endsWith('.md')
    const commands = isPage
      ? /(?:`|^(?:npx )?|^ +(?:npx )?)retake ([a-z][a-z-]*)(?! \d\b)\b([^`\n]*)/gm
      : /[`'"](?:npx )?retake ([a-z][a-z-]*)(?! \d\b)\b([^`'"\n]*)/g
    for (const [command, name = '', rest = ''] of text.matchAll(commands)) {
      const given = rest.split(/ +#|\\| \| |;| && | -- /)[0] ?? ''
      const words = given.split(/\s+/).filter((word) => word !== '' && word !== '<command>')
      const { name: verb, args } = commandNamed([name, ...words])
      const known = optionsByVerb.get(verb)
      // A command that only has subcommands may be named alone.
      if (known === undefined && (words.length > 0 || verb === ''))
        wrong.push(`${file}: ${command}`)
      if (known === undefined) continue
      for (const option of ownArguments(known.verb, args).flatMap(
        (word) => /^\[?(--[a-z][\w-]*)/.exec(word)?.[1] ?? [],
      ))
        if (!known.names.has(option)) wrong.push(`${file}: ${command}`)
    }
  }
  expect(wrong).toEqual([])
})
