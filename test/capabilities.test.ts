import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseSync } from 'oxc-parser'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../packages/runner/src/temporary-folder.js'

/**
 * Removes each capability from a copy of the sources, with the files of the command line that adapt
 * it and the lines that name these, and checks that the rest compiles and still records, replays
 * and forks. Nothing else may import a capability.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const copy = temporaryFolder('capabilities')
afterAll(() => copy[Symbol.dispose]())

/** Folders of the command line whose files may adapt a capability, and are removed with it. */
const ADAPTERS = /^cli\/src\/(?:guard|frameworks|library|team|verbs)\//

/** Files that name adapters and verbs, one per line or statement; only these lines are removed. */
const REGISTRATIONS = new Set(['cli/src/index.ts', 'cli/src/verbs/index.ts'])

/**
 * Capabilities that are built on this one and go with it, and verbs of the command line that go
 * besides those of the removed packages.
 */
const CAPABILITIES: Readonly<
  Record<string, { readonly with: readonly string[]; readonly verbs: readonly string[] }>
> = {
  guard: { with: [], verbs: [] },
  // The command line reads with the lab what a job of the team server needs.
  lab: { with: [], verbs: ['server', 'worker'] },
  interop: { with: [], verbs: [] },
  server: { with: [], verbs: ['server', 'worker'] },
  web: { with: ['server'], verbs: ['server', 'worker'] },
}

const run = promisify(execFile)
const packages = join(copy.path, 'packages')

beforeAll(() => {
  mkdirSync(packages)
  mkdirSync(join(copy.path, 'node_modules', '@retake'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@retake')
      symlinkSync(join(root, 'node_modules', name), join(copy.path, 'node_modules', name))
  for (const name of readdirSync(join(root, 'packages'))) {
    const from = join(root, 'packages', name)
    if (!existsSync(join(from, 'package.json'))) continue
    cpSync(from, join(packages, name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !/\.test\.tsx?$/.test(path),
    })
    if (name !== 'cli')
      symlinkSync(join(packages, name), join(copy.path, 'node_modules', '@retake', name))
  }
  symlinkSync(join(packages, 'cli'), join(copy.path, 'node_modules', 'retake-copy'))
  for (const file of ['package.json', 'tsconfig.base.json'])
    // With a new time, everything would be compiled again.
    cpSync(join(root, file), join(copy.path, file), { preserveTimestamps: true })
})

interface Import {
  readonly specifier: string
  /** The whole statement. */
  readonly start: number
  readonly end: number
}

/** Static and dynamic imports with a literal specifier. */
function importsOf(text: string, file: string): Import[] {
  const { program } = parseSync(file, text)
  const imports: Import[] = []
  const visit = (node: unknown, statement: { start: number; end: number }): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, statement)
    if (typeof node !== 'object' || node === null || !('type' in node)) return
    const { source } = node as { source?: { value?: unknown } }
    if (typeof source?.value === 'string') imports.push({ specifier: source.value, ...statement })
    for (const child of Object.values(node)) if (typeof child === 'object') visit(child, statement)
  }
  for (const statement of program.body)
    visit(statement, { start: statement.start, end: statement.end })
  return imports
}

const sourcesOf = (name: string): string[] =>
  readdirSync(join(packages, name, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `${name}/src/${path.replaceAll('\\', '/')}`)

/**
 * Removes the adapters of capabilities and the lines that name them. Returns the verbs removed, and
 * the imports of other files that make it impossible.
 */
function removeAdapters(removed: readonly string[]) {
  const gone = new Set<string>()
  const isGone = (file: string, specifier: string): boolean => {
    const [, name = ''] = /^@retake\/([a-z]+)/.exec(specifier) ?? []
    if (removed.includes(name)) return true
    if (!specifier.startsWith('.')) return false
    const target = join(dirname(file), specifier).replace(/\.js$/, '')
    return gone.has(`${target}.ts`) || gone.has(`${target}.tsx`)
  }
  const files = readdirSync(packages).filter((name) => existsSync(join(packages, name, 'src')))
  const remaining = files.flatMap(sourcesOf)
  const imports = new Map(
    remaining.map((file) => {
      const text = readFileSync(join(packages, file), 'utf8')
      return [file, /@retake\/|'\.\.?\//.test(text) ? importsOf(text, file) : []] as const
    }),
  )
  const others: string[] = []
  for (let count = -1; count !== gone.size;) {
    count = gone.size
    for (const [file, list] of imports) {
      const found = list.find(({ specifier }) => isGone(file, specifier))
      if (found === undefined || gone.has(file) || REGISTRATIONS.has(file)) continue
      if (ADAPTERS.test(file)) gone.add(file)
      else if (!others.includes(`${file} imports ${found.specifier}`))
        others.push(`${file} imports ${found.specifier}`)
    }
  }
  const verbs: string[] = []
  for (const file of REGISTRATIONS) {
    const path = join(packages, file)
    let text = readFileSync(path, 'utf8')
    // An entry of a table of verbs; the entries of each table are formatted one below the other.
    text = text.replaceAll(
      /^  (?:'([\w-]+)'|(\w+)): [[{](?:(?!^  [\]}\w'])[^])*?import\('([^']+)'\)[^]*?[\]}],\n/gm,
      (entry: string, quoted: string | undefined, name: string | undefined, specifier: string) => {
        if (!isGone(file, specifier)) return entry
        verbs.push(quoted ?? name ?? '')
        return ''
      },
    )
    for (const { specifier, start, end } of importsOf(text, file).toReversed())
      if (isGone(file, specifier)) text = text.slice(0, start) + text.slice(end)
    writeFileSync(path, text)
  }
  // Threads have entries of their own.
  const bundle = join(copy.path, 'scripts', 'bundle.mjs')
  let text = readFileSync(bundle, 'utf8')
  for (const file of gone) text = text.replace(`    'packages/${file}',\n`, '')
  writeFileSync(bundle, text)
  for (const file of gone) rmSync(join(packages, file))
  return { verbs, others }
}

const withoutReferences = (removed: readonly string[]): void => {
  for (const name of readdirSync(packages)) {
    const file = join(packages, name, 'tsconfig.json')
    if (!existsSync(file)) continue
    const text = readFileSync(file, 'utf8')
    const names = removed.join('|')
    const kept = text.replaceAll(
      new RegExp(`\\{\\s*"path": "\\.\\./(?:${names})"\\s*\\},?`, 'g'),
      '',
    )
    // A changed file compiles its package again.
    if (kept !== text) writeFileSync(file, kept.replace(/,(?=\s*\])/, ''))
  }
}

const agent = `
const answer = await fetch(process.env.SERVER, { method: 'POST', body: '{"n":1}' })
console.log(await answer.text(), Math.random() >= 0)
`

/** With the copied command line: records an agent, and reads and runs the recording. */
async function recordReplayAndFork(): Promise<void> {
  const folder = temporaryFolder('agent')
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('an answer'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    writeFileSync(join(folder.path, 'agent.mjs'), agent)
    const { port } = server.address() as AddressInfo
    writeFileSync(join(folder.path, 'changed.txt'), 'a changed answer')
    const retake = (...args: string[]) => {
      const bin = join(packages, 'cli', 'bin', 'retake.mjs')
      const env = { ...process.env, SERVER: `http://127.0.0.1:${port}/` }
      return run(process.execPath, [bin, ...args], { cwd: folder.path, env })
    }
    expect((await retake('record', 'agent.mjs')).stdout).toBe('an answer true\n')
    const { stderr } = await retake('replay', 'last')
    expect(stderr).toMatch(/^identical/)
    expect((await retake('show', 'last')).stdout).toContain('POST http://127.0.0.1')
    const fork = await retake('fork', 'last', '--at', '1', '--response', 'changed.txt')
    expect(fork.stdout).toBe('a changed answer true\n')
  } finally {
    server.close()
    folder[Symbol.dispose]()
  }
}

test.each(Object.entries(CAPABILITIES))(
  'without %s, the rest compiles, records, replays and forks',
  async (capability, { with: others, verbs }) => {
    const removed = [capability, ...others]
    const away = join(copy.path, 'removed')
    const own = join(root, 'packages')
    mkdirSync(away)
    cpSync(join(root, 'scripts'), join(copy.path, 'scripts'), { recursive: true })
    for (const name of removed) renameSync(join(packages, name), join(away, name))
    withoutReferences(removed)
    try {
      expect(removeAdapters(removed)).toEqual({ verbs, others: [] })
      // Not an adapter: without it, the library would have no record().
      expect(existsSync(join(packages, 'cli/src/library/record-in-project.ts'))).toBe(true)
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
      await run(process.execPath, [tsc, '-b', join(packages, 'cli')], { cwd: copy.path })
      await run(process.execPath, ['scripts/bundle.mjs', 'cli'], { cwd: copy.path })
      await recordReplayAndFork()
    } finally {
      for (const name of removed) renameSync(join(away, name), join(packages, name))
      rmSync(away, { recursive: true })
      rmSync(join(packages, 'cli', 'src'), { recursive: true })
      cpSync(join(own, 'cli', 'src'), join(packages, 'cli', 'src'), {
        recursive: true,
        preserveTimestamps: true,
        filter: (path) => !path.includes('.test.'),
      })
    }
  },
  60_000,
)
