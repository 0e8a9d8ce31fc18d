import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { stripFiles, STRIPPED, stripTypes, useStrippedOf } from './strip-types.js'

const strip = (source: string) => stripTypes(source, '/agent.ts')

test('types become blanks, so that every position stays', () => {
  const source = `interface A { a: string }\nconst a = { a: 'x' } as A satisfies A; export function f<T>(x: T): T { return x }`
  const { code, mapped } = strip(source)
  expect(mapped).toBe(false)
  expect(code).toHaveLength(source.length)
  expect(code.indexOf('function f')).toBe(source.indexOf('function f'))
})

test.each([
  ['an enum', 'enum Mood { Calm }\nexport const mood = Mood.Calm'],
  ['a namespace', 'namespace N { export const x = 1 }\nexport const y = N.x'],
  ['a parameter property', 'export class A { constructor(private readonly x: number) {} }'],
])('%s is rewritten, with a source map', (_, source) => {
  const { code, mapped } = strip(source)
  expect(mapped).toBe(true)
  expect(code).toContain('sourceMappingURL=data:application/json;base64,')
})

test('an unmarked import of a type is dropped, and a used import stays', () => {
  const { code } = strip(
    `import { Shape, area } from './shape.js'\nexport const f = (s: Shape) => area(s)`,
  )
  expect(code).toMatch(/import \{ area \} from/)
  expect(code).not.toContain('Shape')
})

test('a prompt that contains TypeScript is left alone', () => {
  const source = `import { ask } from './ask.js'\nawait ask(\`Explain:\nimport { Thing } from 'things'\nlet a: Thing\`)`
  expect(strip(source).code).toContain(`import { Thing } from 'things'\nlet a: Thing`)
})

test('a syntax error names file, line and column', () => {
  expect(() => strip('const a: number = 1\nconst b = a +\n;')).toThrow(
    expect.objectContaining({
      name: 'SyntaxError',
      stack: expect.stringContaining('/agent.ts:3:1'),
    }),
  )
})

test.each([
  ['of a class', '@sealed\nexport class A {}'],
  ['of an exported class', 'export default @sealed() class A {}'],
  [
    'of a member, behind another one',
    'class A { b = 1; @logged private async ask(): Promise<void> {} }',
  ],
])('decorators %s are refused with a reason where the project has no TypeScript', (_, source) => {
  expect(() => strip(source)).toThrow(
    expect.objectContaining({
      code: 'DECORATORS_NOT_COMPILED',
      stack: expect.stringMatching(/\/agent\.ts uses decorators[^]*\n {2}fix {2}.*typescript@5/),
    }),
  )
})

test.each([
  ['a comment', '/**\n * @param a\n */\n// @ts-ignore\nexport const f = (a: number) => a'],
  ['a text', 'export const s: string = "a@b"; export const t = `\n@user says\n${s}\n`'],
  ['an expression', 'export const r: RegExp = /["`]\\n@x/\nexport const s = `@x`'],
])('an @ in %s is not a decorator', (_, source) => {
  expect(strip(source).mapped).toBe(false)
})

const folder = mkdtempSync(join(tmpdir(), 'retake-strip-'))
afterAll(() => rmSync(folder, { recursive: true }))

function written(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

test('files are stripped for other processes as they would be there, except those that it cannot strip', () => {
  const source = 'const a: number = 1\nenum Mood { Calm }\nconsole.log(a, Mood.Calm)'
  const agent = written('agent.ts', source)
  const files = stripFiles([
    agent,
    written('decorated.ts', '@sealed\nexport class A {}'),
    written('mistaken.ts', 'const b = a +\n;'),
    join(folder, 'missing.ts'),
  ])
  expect(files).toEqual({ [agent]: { source, ...stripTypes(source, agent) } })
  written('agent.ts', 'const c: number = 2')
  expect(stripFiles([agent])[agent]?.code).toBe('const c         = 2')
  expect(stripFiles([agent, written('long.ts', `// ${'a'.repeat(2_000_000)}`)])).toEqual({})
})

test('a file that was stripped elsewhere is not stripped again, unless it has changed', () => {
  const source = 'const a: number = 1'
  const stored = written(
    'stripped.json',
    JSON.stringify({ '/known.ts': { source, code: 'const a = "elsewhere"', mapped: false } }),
  )
  expect(useStrippedOf('file:///loader.js')).toBe(false)
  expect(useStrippedOf(`file:///loader.js?${STRIPPED}=${encodeURIComponent(stored)}`)).toBe(true)
  expect(stripTypes(source, '/known.ts').code).toBe('const a = "elsewhere"')
  expect(stripTypes(source, '/other.ts').code).toBe('const a         = 1')
  expect(stripTypes('const a: number = 2', '/known.ts').code).toBe('const a         = 2')
  useStrippedOf(`file:///loader.js?${STRIPPED}=missing.json`)
  expect(stripTypes(source, '/known.ts').code).toBe('const a         = 1')
})
