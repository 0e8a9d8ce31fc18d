import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'

/**
 * Facts travel as codes and fields, and sentences are for people: code that searches in a sentence
 * breaks when somebody improves it. This finds such code: patterns and strings with words in a
 * sentence, and searches in what is named like a text for people.
 */
const packages = fileURLToPath(new URL('../packages', import.meta.url))

/** Files that read texts of others, by package and name, and whose. */
const FOREIGN: Readonly<Record<string, string>> = {
  'cli/debug-eval.ts': 'errors of V8',
  'cli/json-schema.ts': 'errors of @cfworker/json-schema',
  'engine/better-sqlite3.ts': 'the source of a function, as V8 prints it',
  'engine/parent-writes.ts': 'arguments of file calls, which are their titles',
  'engine/probe-thread.ts': 'errors of V8',
  'engine/redis.ts': 'errors of Redis',
  'guard/check-output.ts': 'errors of JSON.parse and of validators',
  'guard/linear-pattern.ts': 'errors of a parser of regular expressions',
  'guard/retry-safety.ts': 'errors of Node',
  'lab/bisect.ts': 'the command is removed soon',
  'lab/code.ts': 'errors of V8',
  'lab/context.ts': 'errors of providers',
  'lab/lifecycle.ts': 'errors of providers',
  'lab/pitfalls.ts': 'errors of Node',
  'lab/step-prior.ts': 'answers of models and tools',
  'lab/symptoms.ts': 'errors of Node, providers and tools, and answers of models',
  'runner/changed-files.ts': 'errors of Node',
  'runner/scripted-model.ts': 'prompts of the demo agent',
  'runner/tape-failure.ts': 'errors of SDKs about missing keys',
  'runner/verb.ts': 'errors of parseArgs',
  'server/errors.ts': 'errors of PostgreSQL clients',
  'server/postgres.ts': 'errors of PostgreSQL',
  'tape/named-secrets.ts': 'texts that contain secrets',
  'tape/possible-secrets.ts': 'texts that contain secrets',
  'tape/receipt.ts': 'the name of a format',
}

/** Members and variables that hold texts for people. */
const TEXT_NAME =
  /^(?:message|summary|explanation|reasons?|notes?|why|what|fix|consequence|sentence|hint|advice|description|title)$/i

/** Two words of prose in a pattern or a string. */
const WORDS = /[a-z']{2,} [a-z']{2,}/

type Node = { readonly type: string; readonly start: number } & Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value

/** The name of a variable or member, also behind `?.`, `!`, `as`, `??` and methods. */
function nameOf(node: unknown): string {
  if (!isNode(node)) return ''
  if (node.type === 'Identifier') return String(node['name'])
  if (node.type === 'MemberExpression') return nameOf(node['property'])
  if (node.type === 'LogicalExpression') return nameOf(node['left'])
  const callee = node['callee']
  return nameOf(isNode(callee) ? callee['object'] : node['expression'])
}

/** Lines of a file that search in sentences. */
function searchesIn(file: string, text: string): string[] {
  const lines = new Set<string>()
  const report = ({ start }: Node): void => {
    const line = text.slice(0, start).split('\n').length
    lines.add(`${file}:${line} ${(text.split('\n')[line - 1] ?? '').trim()}`)
  }
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const member of node) visit(member)
    if (!isNode(node)) return
    const regex = node['regex'] as { readonly pattern: string } | undefined
    if (regex && WORDS.test(regex.pattern.replaceAll(/\\./g, '~'))) report(node)
    const callee = node['callee']
    if (node.type === 'CallExpression' && isNode(callee) && callee.type === 'MemberExpression') {
      const method = nameOf(callee['property'])
      const [argument] = node['arguments'] as unknown[]
      const literal = isNode(argument) && argument.type === 'Literal' ? argument : undefined
      const string = typeof literal?.['value'] === 'string' ? literal['value'] : ''
      const isSearch = /^(?:match|matchAll|search|includes|indexOf|startsWith|endsWith)$/.test(
        method,
      )
      if (/^(?:test|exec)$/.test(method) && TEXT_NAME.test(nameOf(argument))) report(node)
      // Lists of codes have names in capitals.
      if (isSearch && WORDS.test(string) && !/^[A-Z_]+$/.test(nameOf(callee['object'])))
        report(node)
      if (isSearch && TEXT_NAME.test(nameOf(callee['object'])))
        if (literal?.['regex'] !== undefined || /[a-z]/i.test(string)) report(node)
    }
    for (const child of Object.values(node)) if (typeof child === 'object') visit(child)
  }
  visit(parseSync(file, text).program)
  return [...lines]
}

test('no code decides by searching in a sentence of its own', () => {
  const found = readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /^[a-z]+\/src\/.*\.tsx?$/.test(path) && !path.includes('.test.'))
    .filter((path) => FOREIGN[path.replace(/\/.*\//, '/')] === undefined)
    .flatMap((path) => searchesIn(path, readFileSync(join(packages, path), 'utf8')))
  expect(found, 'give the fact a code or field, and read that').toEqual([])
})

test('searches in sentences are found in every form', () => {
  const lines = [
    `/^it (?:took longer|crashed)/.test(broke ?? '')`,
    `/no answer$/.exec(step.title)`,
    `const [, name] = /^(\\S+) may not really run/.exec(why) ?? []`,
    `divergence.summary.startsWith('event ')`,
    `event?.consequence?.includes('missing on replay') === true`,
    `(error as Error).message.match(/\\d+/)`,
    `text.includes('missing on replay')`,
    `const PATTERN = /exists only on the tape/`,
  ]
  expect(searchesIn('a.ts', lines.join(';\n'))).toEqual(
    lines.map((line, index) => `a.ts:${index + 1} ${line}${index < lines.length - 1 ? ';' : ''}`),
  )
  const others = [
    `/^[a-z]+-\\d+$/.test(id)`,
    `error.code.startsWith('ERR_')`,
    `names.includes('message')`,
    `message.includes(String(code))`,
    `text.split('a b')`,
  ]
  expect(searchesIn('a.ts', others.join(';\n'))).toEqual([])
})
