import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
/** The first two record runs, which the others read. */
const names = ['cli', 'engine', 'guard', 'interop', 'lab', 'runner', 'tape', 'web']
let folder = ''
const packageOf = (name: string): string =>
  name === 'cli' ? join(folder, 'package') : join(root, 'packages', name)

/** The command as somebody has it who installs it: packed, with what it depends on and no checkout around it. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'retake-packages-'))
  const beside = join(dirname(process.execPath), 'npm')
  const npm = existsSync(beside) ? beside : 'npm'
  const packed = run(npm, ['pack', '--json', join(root, 'packages/cli')])
  const [{ filename } = { filename: '' }] = JSON.parse(packed) as { filename: string }[]
  run('tar', ['-xzf', filename])
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1e8,
  })
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

function recordedTapes(): string[] {
  const runs = join(folder, '.retake/runs')
  const files = existsSync(runs) ? readdirSync(runs) : []
  return files.filter((file) => file.endsWith('.tape')).map((file) => join(runs, file))
}

const markdownIn = (part: string): string[] =>
  readdirSync(part)
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(part, file))

/** Links in a file that lead nowhere. */
const deadLinks = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/\]\(([^)#]+)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target) && !existsSync(join(dirname(file), target)))
    .map((target) => `${file.slice(folder.length)}: ${target}`)

test('every package has a licence and a README whose example runs and whose links lead somewhere', () => {
  for (const name of names) {
    const readme = join(packageOf(name), 'README.md')
    expect(existsSync(join(packageOf(name), 'LICENSE')), name).toBe(true)
    expect(deadLinks(readme)).toEqual([])
    const [, program = ''] = /```js\n([^]*?)```/.exec(readFileSync(readme, 'utf8')) ?? []
    expect(program, name).toContain('import')
    run(process.execPath, ['--input-type=module', '-e', program, '--', ...recordedTapes()])
  }
})

test('the types of entry points are found without `exports`, as TypeScript 5 does for CommonJS', () => {
  for (const name of names) {
    const read = readFileSync(join(packageOf(name), 'package.json'), 'utf8')
    const { types, typesVersions, exports } = JSON.parse(read) as {
      readonly types: string
      readonly typesVersions?: Readonly<Record<'*', Readonly<Record<'*', readonly string[]>>>>
      readonly exports: Readonly<Record<string, { readonly types: string }>>
    }
    for (const [subpath, entry] of Object.entries(exports)) {
      const patterns = typesVersions?.['*']['*'] ?? []
      const found =
        subpath === '.'
          ? types
          : patterns
              .map((pattern) => pattern.replace('*', subpath.slice(2)))
              .find((file) => existsSync(join(packageOf(name), file)))
      expect(found, `${name} ${subpath}`).toBe(entry.types)
    }
  }
})

test('the installed command has every page that help and errors point to, with no dead links', () => {
  const bin = join(packageOf('cli'), 'bin/retake.mjs')
  const docs = join(packageOf('cli'), 'docs')
  const pages = [...markdownIn(docs), ...markdownIn(join(docs, 'errors'))]
  expect(pages.flatMap(deadLinks)).toEqual([])
  const sources = names.flatMap((name) => codeIn(packageOf(name)))
  // Comments are for those who have the checkout.
  expect(
    sources.filter(([, code]) => /docs\/[\w/-]+\.md/.test(code)).map(([file]) => file),
  ).toEqual([])
  const named = sources.flatMap(([, code]) =>
    [...code.matchAll(/retake docs ([\w-]+)/g)].map(([, page = '']) => page),
  )
  expect(named.length).toBeGreaterThan(8)
  const codes = readFileSync(join(docs, 'errors.md'), 'utf8').matchAll(/^## (\w+)$/gm)
  const shipped = new Set([
    ...pages.map((file) => basename(file, '.md')),
    ...[...codes].map(([, code]) => code),
  ])
  expect(named.filter((page) => !shipped.has(page))).toEqual([])
  expect(run(process.execPath, [bin, 'docs', 'UNKNOWN_RUN'])).toMatch(/^# UNKNOWN_RUN\n/)
})

/** The programs of a package without their comments, by file. */
const codeIn = (part: string): [file: string, code: string][] =>
  readdirSync(part, { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(bundle|bin|jest|demo|sample|validate).*\.([cm]?js|ts)$/.test(file))
    .filter((file) => !file.endsWith('.d.ts'))
    .map((file) => {
      const text = readFileSync(join(part, file), 'utf8')
      return [file, text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')]
    })

test('importing the library loads nothing for inspection, proxies, tests, the viewer or YAML', () => {
  const entry = join(root, 'packages/cli/dist/index.js')
  // Relative, because the checkout itself may be in a folder such as `web/`.
  const loaded = [...loadedBy(entry)].map((each) => each.replace(root, ''))
  expect(loaded.length).toBeGreaterThan(100)
  expect(
    loaded.filter((each) => /engine\/dist\/(inspect|proxy|testing)\/|lab\/|web\/|^yaml/.test(each)),
  ).toEqual([])
})

test('recording an agent loads no code that runs an agent, in the process of the command', () => {
  const record = [
    'packages/cli/dist/command-line/run-verb.js',
    'packages/cli/dist/verbs/record.js',
    'packages/runner/dist/recording-summary.js',
  ].flatMap((entry) => [...loadedBy(join(root, entry))])
  const agents =
    /engine\/dist\/(?:library\/run-again|player\/(?:play|make-plan|pinned)|kernel\/(?:player|record-session)|inspect|proxy)/
  expect(record.length).toBeGreaterThan(50)
  expect(record.filter((each) => agents.test(each))).toEqual([])
})

test('the thread that compiles TypeScript on Node 20 loads nothing else but errors', () => {
  const thread = bundledWith(join(root, 'packages/runner/bundle/typescript-hooks-thread.js'))
  const bytes = [...thread].reduce((sum, file) => sum + statSync(file).size, 0)
  expect(thread.size).toBeGreaterThan(3)
  expect(bytes, [...thread].join('\n')).toBeLessThan(200_000)
})

/** Bundled files of our packages that an import of this file loads at once. */
function bundledWith(file: string, loaded = new Set<string>()): Set<string> {
  loaded.add(file)
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(BUNDLED_IMPORT)) {
    const [, own, entry = 'index'] = /^@retake\/(\w+)(?:\/([\w-]+))?$/.exec(name) ?? []
    const next = own
      ? join(root, 'packages', own, 'bundle', `${entry}.js`)
      : name.startsWith('.') && join(dirname(file), name)
    if (next && !loaded.has(next)) bundledWith(next, loaded)
  }
  return loaded
}
const BUNDLED_IMPORT = /^(?:import|export) (?:[^'";]* from )?"([^"]+)"/gm

/** Files, and names of packages of others, that an import of this file loads at once. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  loaded.add(file)
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) {
    const [, own, door = ''] = /^@retake\/(\w+)(\/[\w-]+)?$/.exec(name) ?? []
    const next = name.startsWith('.')
      ? join(dirname(file), name)
      : own && doorFile(join(root, 'packages', own, 'dist', door))
    if (next === undefined) loaded.add(name)
    else if (!loaded.has(next)) loadedBy(next, loaded)
  }
  return loaded
}

/** An entry point is a folder, or a file. */
const doorFile = (door: string): string =>
  existsSync(join(door, 'index.js')) ? join(door, 'index.js') : `${door}.js`
const STATIC_IMPORT = /^(?:import|export) (?:[^'";]* from )?'([^']+)'/gm
