import { readdirSync, readFileSync, existsSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { describe, expect, test } from 'vitest'

/**
 * The drawing at the top of ARCHITECTURE.md, as a test:
 *
 *     tape  ←  engine  ←  runner  ←  lab, guard, interop, web, server  ←  cli
 *
 * Each package with the packages of ours it imports, and no others.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  tape: [],
  engine: ['tape'],
  runner: ['tape', 'engine'],
  guard: ['tape', 'engine', 'runner'],
  lab: ['tape', 'engine', 'runner'],
  web: ['tape', 'engine', 'runner'],
  interop: ['tape', 'engine', 'runner'],
  server: ['tape', 'engine', 'runner', 'web'],
  cli: ['tape', 'engine', 'runner', 'guard', 'lab', 'web', 'interop', 'server'],
}

/** Capabilities that `cli/src/verbs/capabilities.ts` loads by name, because they may be missing. */
const loadedByName: Readonly<Record<string, readonly string[]>> = { cli: ['interop'] }

/** Folders of `tape` that adapt it to a platform; only these may import one. */
const tapePlatforms = ['node', 'browser']

/** Packages that sit in a production process: no third-party code. */
const withoutDependencies = ['tape', 'engine']

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, unknown>>
}

interface Import {
  readonly file: string
  readonly specifier: string
}

const packagesFolder = fileURLToPath(new URL('../packages', import.meta.url))
const packageNames = readdirSync(packagesFolder).filter((name) =>
  existsSync(join(packagesFolder, name, 'package.json')),
)
const manifests = new Map(
  packageNames.map((name) => [
    name,
    JSON.parse(readFileSync(join(packagesFolder, name, 'package.json'), 'utf8')) as Manifest,
  ]),
)
const folderOfPublished = new Map(
  [...manifests].map(([folder, manifest]) => [manifest.name, folder]),
)

/** Every specifier of import, export … from, import(), import('…') types and require(). */
function specifiersOf(file: string, text: string): string[] {
  const found: string[] = []
  const take = (value: unknown) => {
    const { value: literal, quasis = [] } = (value ?? {}) as {
      readonly value?: unknown
      /** Parts of a template. With one part, it is a literal. */
      readonly quasis?: readonly { readonly value: { readonly cooked: string } }[]
    }
    if (typeof literal === 'string') found.push(literal)
    if (quasis.length === 1) found.push(quasis[0]?.value.cooked ?? '')
  }
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const item of node) visit(item)
      return
    }
    if (node === null || typeof node !== 'object') return
    const fields = node as Record<string, unknown>
    switch (fields['type']) {
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
      case 'ExportNamedDeclaration':
      case 'ImportExpression':
      case 'TSImportType':
        take(fields['source'])
        take(fields['argument'])
        break
      case 'TSExternalModuleReference':
        take(fields['expression'])
        break
      case 'CallExpression': {
        const callee = fields['callee'] as Record<string, unknown>
        if (callee['name'] === 'require') take((fields['arguments'] as unknown[])[0])
        break
      }
      default:
    }
    for (const child of Object.values(fields)) visit(child)
  }
  visit(parseSync(file, text).program)
  return found
}

function importsOf(name: string): Import[] {
  const source = join(packagesFolder, name, 'src')
  if (!existsSync(source)) return []
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    .flatMap((path) => {
      const file = join(source, path)
      return specifiersOf(file, readFileSync(file, 'utf8')).map((specifier) => ({
        file,
        specifier,
      }))
    })
}

/** Which package of ours a specifier means, and which of its entry points. */
function ownTarget({ file, specifier }: Import): { folder: string; entry: string } | undefined {
  if (specifier.startsWith('.')) {
    const [folder = '', inside] = relative(packagesFolder, resolve(dirname(file), specifier)).split(
      sep,
    )
    // Tests share what writes their tapes.
    if (inside === 'test-support') return undefined
    return manifests.has(folder) ? { folder, entry: '(by path)' } : undefined
  }
  for (const [published, folder] of folderOfPublished) {
    if (specifier === published) return { folder, entry: '.' }
    if (specifier.startsWith(`${published}/`)) {
      return { folder, entry: `.${specifier.slice(published.length)}` }
    }
  }
  return undefined
}

const say = (found: Import, reason: string) =>
  `${relative(dirname(packagesFolder), found.file)} imports '${found.specifier}': ${reason}`

/** The rules an import breaks, each as a sentence that says what to change. */
function complaintsAbout(name: string, found: Import): string[] {
  const complaints: string[] = []
  const target = ownTarget(found)
  if (target !== undefined && target.folder !== name) {
    if (target.entry === '(by path)') {
      complaints.push(
        say(
          found,
          `it leaves the package. Import '${manifests.get(target.folder)?.name}' instead.`,
        ),
      )
    } else if (!(target.entry in (manifests.get(target.folder)?.exports ?? {}))) {
      complaints.push(
        say(
          found,
          `a deep import. Export what you need from '${manifests.get(target.folder)?.name}'.`,
        ),
      )
    }
    if (!(mayImport[name] ?? []).includes(target.folder)) {
      complaints.push(
        say(
          found,
          `${name} may import ${mayImport[name]?.join(', ') || 'no package of ours'}. ` +
            `Move the code down, or hand it in as an argument.`,
        ),
      )
    }
  }
  if (name === 'tape' && found.specifier.startsWith('node:') && !found.file.endsWith('.test.ts')) {
    const [top = ''] = relative(join(packagesFolder, 'tape', 'src'), found.file).split(sep)
    if (!tapePlatforms.includes(top)) {
      complaints.push(
        say(
          found,
          `the core of tape runs in browsers too. Hand it in through src/node and src/browser.`,
        ),
      )
    }
  }
  return complaints
}

describe.each(packageNames)('package %s', (name) => {
  test('is part of the layers', () => {
    expect(mayImport, `add '${name}' to the layers in ${import.meta.filename}`).toHaveProperty(name)
  })

  test('imports only what lies below it, through its entry points', () => {
    const complaints = importsOf(name).flatMap((found) => complaintsAbout(name, found))
    expect(complaints, complaints.join('\n')).toEqual([])
  })

  test('depends on the packages it may import, and imports each of them', () => {
    const allowed = (mayImport[name] ?? []).toSorted()
    const imported = importsOf(name).flatMap((found) => ownTarget(found)?.folder ?? [])
    imported.push(...(loadedByName[name] ?? []))
    const unused = allowed.filter((folder) => !imported.includes(folder))
    expect(unused, `remove them from the layers of ${name}`).toEqual([])
    const { dependencies, optionalDependencies, peerDependencies } = manifests.get(name) ?? {}
    const declared = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
      .flatMap((dependency) => folderOfPublished.get(dependency) ?? [])
      .toSorted()
    expect(declared, `dependencies in packages/${name}/package.json`).toEqual(allowed)
  })
})

/**
 * The heart of the product: what a tape says, and how a run is recorded and played. A newcomer reads
 * these folders first. They import themselves and the format, nothing else: no capability, no
 * boundary, no platform.
 */
const kernelFolders = ['tape/src/format', 'engine/src/kernel']

/** What a file of the kernel must not import, each as a sentence that says what to change. */
function kernelComplaints(folder: string, found: Import): string[] {
  if (found.specifier === '@retake/tape/format') return []
  if (folder === 'engine/src/kernel' && found.specifier.startsWith('node:')) return []
  if (found.specifier.startsWith('.')) {
    const inside = relative(
      join(packagesFolder, folder),
      resolve(dirname(found.file), found.specifier),
    )
    if (!inside.startsWith('..')) return []
  }
  return [
    say(
      found,
      `${folder} imports nothing outside itself. Hand it in through a port: an interface in ` +
        `${folder}, implemented outside, as engine/src/session-ports.ts does for a session.`,
    ),
  ]
}

test.each(kernelFolders)('%s imports only itself', (folder) => {
  const [name = ''] = folder.split('/')
  const complaints = importsOf(name)
    .filter(({ file }) => file.startsWith(join(packagesFolder, folder, sep)))
    .filter(({ file }) => !file.includes('.test.'))
    .flatMap((found) => kernelComplaints(folder, found))
  expect(complaints, complaints.join('\n')).toEqual([])
})

/** Folders of `runner` that import only those before them, as its README says. */
const runnerFolders = [
  ['terminal', 'sandbox', 'typescript'],
  ['config', 'sources'],
  ['runs'],
  ['command-line', 'privacy'],
  ['agent'],
  ['commands', 'oracle'],
  ['debug', 'demo', 'tests', 'verify'],
  ['removal'],
]

test('each folder of runner imports only folders before it', () => {
  const source = join(packagesFolder, 'runner', 'src')
  const folders = readdirSync(source, { withFileTypes: true }).filter((each) => each.isDirectory())
  expect(folders.map(({ name }) => name).toSorted()).toEqual(runnerFolders.flat().toSorted())
  const folderOf = (file: string): string => relative(source, file).split(sep)[0] ?? ''
  const rankOf = (folder: string): number =>
    runnerFolders.findIndex((group) => group.includes(folder))
  const upward = importsOf('runner')
    .filter(({ file, specifier }) => specifier.startsWith('../') && !file.includes('.test.'))
    .filter(({ file, specifier }) => {
      const [from, to] = [folderOf(file), folderOf(resolve(dirname(file), specifier))]
      return from !== to && rankOf(to) >= rankOf(from)
    })
    .map((found) => say(found, 'see the order in packages/runner/src/README.md'))
  expect(upward, upward.join('\n')).toEqual([])
})

/** Folders that read steps, providers or edits; none of them is needed to record. */
const readingFolders = ['player', 'proxy', 'testing', 'policy-files', 'verbs']

test.each(['engine', 'guard'])('package %s loads only the format of tapes to record', (name) => {
  const source = join(packagesFolder, name, 'src')
  const loading = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .filter((path) => !readingFolders.includes(path.split(sep)[0] ?? ''))
    .filter((path) =>
      parseSync(path, readFileSync(join(source, path), 'utf8')).module.staticImports.some(
        ({ moduleRequest, entries }) =>
          moduleRequest.value === '@retake/tape' && entries.some(({ isType }) => !isType),
      ),
    )
  expect(loading, "import values from '@retake/tape/format', /guards, /http or /secrets").toEqual(
    [],
  )
})

test.each(withoutDependencies)('package %s has no third-party dependency', (name) => {
  const manifest = manifests.get(name)
  const foreign = Object.keys({
    ...manifest?.dependencies,
    ...manifest?.optionalDependencies,
    ...manifest?.peerDependencies,
  }).filter((dependency) => !folderOfPublished.has(dependency))
  expect(foreign, `${name} sits in production processes; write it or do without`).toEqual([])
})

test('the reader of imports sees every form and no comment', () => {
  const text = `
    import a from 'one'
    import type { B } from 'two'
    export * from 'three'
    export { c } from 'four'
    const d = await import('five')
    type E = import('six').E
    const f = require('seven')
    import g = require('eight')
    const h = await import(\`nine\`)
    // import i from 'no'
    const text = "import j from 'no'"
  `
  expect(new Set(specifiersOf('example.ts', text))).toEqual(
    new Set(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']),
  )
})

test('upward, deep and platform imports are named with their remedy', () => {
  const from = (path: string, specifier: string) => ({
    file: join(packagesFolder, path),
    specifier,
  })
  expect(complaintsAbout('tape', from('tape/src/x.ts', '@retake/engine'))).toEqual([
    expect.stringContaining('tape may import no package of ours'),
  ])
  expect(complaintsAbout('engine', from('engine/src/x.ts', '@retake/tape/dist/events.js'))).toEqual(
    [expect.stringContaining('a deep import')],
  )
  expect(complaintsAbout('engine', from('engine/src/x.ts', '../../tape/src/events.js'))).toEqual([
    expect.stringContaining('it leaves the package'),
  ])
  expect(complaintsAbout('tape', from('tape/src/codec.ts', 'node:fs'))).toEqual([
    expect.stringContaining('runs in browsers too'),
  ])
  expect(complaintsAbout('tape', from('tape/src/node/file.ts', 'node:fs'))).toEqual([])
  expect(complaintsAbout('engine', from('engine/src/x.ts', '@retake/tape/node'))).toEqual([])
  const inFormat = (specifier: string) =>
    kernelComplaints('tape/src/format', from('tape/src/format/values/x.ts', specifier))
  expect(inFormat('../../guards/index.js')).toEqual([expect.stringContaining('through a port')])
  expect(inFormat('node:fs')).toEqual([expect.stringContaining('through a port')])
  expect(inFormat('../events.js')).toEqual([])
  const inKernel = (specifier: string) =>
    kernelComplaints('engine/src/kernel', from('engine/src/kernel/x.ts', specifier))
  for (const specifier of ['../secrets/secrets.js', '@retake/tape', '@retake/tape/guards'])
    expect(inKernel(specifier)).toEqual([expect.stringContaining('through a port')])
  for (const specifier of ['./session.js', '@retake/tape/format', 'node:crypto'])
    expect(inKernel(specifier)).toEqual([])
})
