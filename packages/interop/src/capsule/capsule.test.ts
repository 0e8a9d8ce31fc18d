import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { SourceStore } from '@retake/runner/sources'
import type { RunDetails } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { isCapsule, isSourcePath } from './capsule-file.js'
import { packCapsule } from './pack-capsule.js'
import { unpackCapsule } from './unpack-capsule.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const key = `sk-${letters}`
const FILES: Readonly<Record<string, string>> = {
  'agent.mjs': "import './lib/key.mjs'\n",
  'lib/key.mjs': `// key\nexport const apiKey = '${key}'\n`,
  'package.json': '{"type":"module"}\n',
}

function temporary(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-capsule-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const shaOf = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex')

/** The tape of a process that the run started. */
const childTape = (): Buffer => readFileSync(runWith(temporary(), {}, {}, 'run-1-3'))

/** The list of these files, as it is stored. */
function listOf(files: Readonly<Record<string, string>>): string {
  const digests = Object.entries(files).map(([name, text]) => [name, shaOf(text)])
  return JSON.stringify({ files: Object.fromEntries(digests), packages: {}, settings: {} })
}

/** A run with its code, in `.retake` of a folder. Returns its tape. */
function runWith(
  folder: string,
  files: Readonly<Record<string, string>> = FILES,
  more: Partial<RunDetails> = {},
  id = 'run-1',
): string {
  const list = listOf(files)
  const runs = path.join(folder, '.retake', 'runs')
  mkdirSync(runs, { recursive: true })
  SourceStore.besideRuns(runs).keep(
    new Map([...Object.values(files), list].map((text) => [shaOf(text), Buffer.from(text)])),
  )
  const file = path.join(runs, `${id}.tape`)
  const run = { id, name: 'run', startedAt: 0, node: 'v20.0.0' }
  const writer = TapeWriter.create(
    file,
    { type: 'run', scope: 'process', ...run },
    { cwd: '/agent', entry: 'agent.mjs', code: { list: shaOf(list), files: 1 }, ...more },
  )
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  return file
}

async function packed(
  files?: Readonly<Record<string, string>>,
  allowsSecrets = false,
  more: Partial<RunDetails> = {},
) {
  const folder = temporary()
  const out = path.join(folder, 'out.retake')
  const capsule = await packCapsule(runWith(folder, files, more), out, { allowsSecrets })
  return { folder, out, capsule }
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted()

/** Imports into a folder without the settings of this project. */
const unpackIn = (out: string, into: string, secrets: Record<string, string> = {}) =>
  unpackCapsule(out, into, {
    secrets: new Map(Object.entries(secrets)),
    runs: path.join(into, '.retake', 'runs'),
  })

test('a capsule has the tape and the code of a run, with masked secrets', async () => {
  const { out, capsule } = await packed()
  expect(capsule).toMatchObject({ run: 'run-1', tapes: 1, sources: 3, masked: ['lib/key.mjs:2'] })
  expect(isCapsule(out)).toBe(true)
  expect(statSync(out).mode & 0o777).toBe(0o600)
  expect(gunzipSync(readFileSync(out)).includes(key)).toBe(false)
  const into = temporary()
  expect(await unpackIn(out, into)).toMatchObject({
    outcome: 'imported',
    folder: '',
    masked: ['lib/key.mjs:2'],
  })
  for (const name of ['agent.mjs', 'package.json'])
    expect(readFileSync(path.join(into, name), 'utf8')).toBe(FILES[name])
  const masked = readFileSync(path.join(into, 'lib/key.mjs'), 'utf8')
  expect(masked.length).toBe(FILES['lib/key.mjs']?.length)
  expect(masked).toContain('retake-hidden')
  expect(openTape(path.join(into, '.retake/runs/run-1.tape')).verify().ok).toBe(true)
  // Two of the files, and the list.
  expect(filesBelow(path.join(into, '.retake/sources'))).toHaveLength(3)
  expect(await unpackIn(out, into)).toMatchObject({ outcome: 'exists' })
})

test('a value that is supplied makes the file exactly the recorded one', async () => {
  const { out } = await packed()
  const into = temporary()
  await unpackIn(out, into)
  expect(await unpackIn(out, into, { 'lib/key.mjs:2': key })).toMatchObject({ masked: [] })
  expect(readFileSync(path.join(into, 'lib/key.mjs'), 'utf8')).toBe(FILES['lib/key.mjs'])
  const store = SourceStore.besideRuns(path.join(into, '.retake/runs'))
  expect(store.read(shaOf(FILES['lib/key.mjs'] ?? ''))?.toString()).toBe(FILES['lib/key.mjs'])
})

test.each([
  ['another value', { 'lib/key.mjs:2': `${key.slice(0, -1)}_` }],
  ['a shorter value', { 'lib/key.mjs:2': key.slice(0, 10) }],
  ['a line without a masked secret', { 'lib/key.mjs:1': key }],
])('%s is refused, and nothing is written', async (_, secrets) => {
  const { out } = await packed()
  const into = temporary()
  await expect(unpackIn(out, into, secrets)).rejects.toMatchObject({ code: 'CAPSULE_SECRET_WRONG' })
  expect(filesBelow(into)).toEqual([])
})

test('several secrets of a line have columns, and each can be supplied', async () => {
  const other = key.replace('aB3', 'Zx9')
  const { out, capsule } = await packed({ 'agent.mjs': `f('${key}', '${other}')\n` })
  expect(capsule.masked).toHaveLength(2)
  const [first = '', second = ''] = capsule.masked
  const into = temporary()
  expect(await unpackIn(out, into, { [first]: key })).toMatchObject({ masked: [`agent.mjs:1`] })
  const whole = temporary()
  expect(await unpackIn(out, whole, { [first]: key, [second]: other })).toMatchObject({
    masked: [],
  })
  expect(readFileSync(path.join(whole, 'agent.mjs'), 'utf8')).toContain(other)
})

test('with --allow-secrets, the code is exactly the recorded one', async () => {
  const { out, capsule } = await packed(FILES, true)
  expect(capsule.masked).toEqual([])
  const into = temporary()
  await unpackIn(out, into)
  expect(readFileSync(path.join(into, 'lib/key.mjs'), 'utf8')).toBe(FILES['lib/key.mjs'])
})

test('code above the working directory keeps its position', async () => {
  const files = { 'agent.mjs': '1\n', '../../lib/prices.mjs': '2\n' }
  const { out } = await packed(files, false, { cwd: '/srv/mono/packages/agent' })
  const into = temporary()
  expect(await unpackIn(out, into)).toMatchObject({
    folder: 'packages/agent',
    files: ['packages/agent/agent.mjs', 'lib/prices.mjs'],
  })
  expect(readFileSync(path.join(into, 'lib/prices.mjs'), 'utf8')).toBe('2\n')
})

test('code that was not kept cannot be packed', async () => {
  const folder = temporary()
  const file = runWith(folder)
  rmSync(path.join(folder, '.retake/sources'), { recursive: true })
  const out = path.join(folder, 'out.retake')
  await expect(packCapsule(file, out, { allowsSecrets: false })).rejects.toMatchObject({
    code: 'CODE_NOT_STORED',
  })
  expect(existsSync(out)).toBe(false)
})

test.each([
  '.git/hooks/pre-commit',
  'node_modules/a/index.js',
  '.npmrc',
  'retake.config.mjs',
  '/etc/agent.mjs',
  'C:/agent.mjs',
  'C:agent.mjs',
  'a/../../b.mjs',
  'a//b.mjs',
  'con.js',
  '.retake/runs/run-1.tape',
  '.retake/demo',
  '.retake/demo/.npmrc',
  '.retake/demo/../runs/agent.mjs',
  '.retake/demo/node_modules/retake/index.js',
  'a/.retake/demo/agent.ts',
  'a.mjs.',
  'a\nb.mjs',
  'a\0b.mjs',
  '',
])('a capsule contains no file at %j', (file) => {
  expect(isSourcePath(file)).toBe(false)
})

/** A capsule that somebody else could make. */
function made(header: unknown, ...contents: readonly (Buffer | string)[]): Buffer {
  const start = typeof header === 'string' ? header : JSON.stringify(header)
  return gzipSync(Buffer.concat([`${start}\n`, ...contents].map((each) => Buffer.from(each))))
}
const entry = (name: string, content: Buffer | string, more: object = {}) => ({
  name,
  bytes: Buffer.byteLength(content),
  sha256: shaOf(content),
  ...more,
})

interface Parts {
  readonly tape: Buffer
  readonly tapeEntry: object
  readonly sources: { readonly entry: object; readonly text: string }[]
}
function partsOf(files: Readonly<Record<string, string>>, more: Partial<RunDetails> = {}): Parts {
  const tape = readFileSync(runWith(temporary(), files, more))
  const sources = [listOf(files), ...Object.values(files)].map((text) => ({
    entry: entry(`sources/${shaOf(text)}`, text),
    text,
  }))
  return { tape, tapeEntry: entry('runs/run-1.tape', tape), sources }
}
const whole = ({ tape, tapeEntry, sources }: Parts, changed: object = {}): Buffer =>
  made(
    {
      capsule: 1,
      run: 'run-1',
      files: [tapeEntry, ...sources.map((each) => each.entry)],
      ...changed,
    },
    tape,
    ...sources.map(({ text }) => text),
  )
const ONE = { 'agent.mjs': 'agent\n' }
const sha = shaOf('agent\n')
const LIST = listOf(ONE)
const listEntry = entry(`sources/${shaOf(LIST)}`, LIST)

test.each<[string, () => Buffer]>([
  ['is empty', () => Buffer.alloc(0)],
  ['is no gzip', () => Buffer.from('{"capsule":1}')],
  ['is truncated', () => whole(partsOf(ONE)).subarray(0, -20)],
  ['was changed inside', () => whole(partsOf(ONE)).fill(0x41, 60, 70)],
  [
    'ends after its header',
    () => made({ capsule: 1, run: 'run-1', files: [partsOf(ONE).tapeEntry] }),
  ],
  [
    'has more than it announces',
    () => gzipSync(Buffer.concat([gunzipSync(whole(partsOf(ONE))), Buffer.alloc(1)])),
  ],
  ['has no JSON', () => made('<html>')],
  ['has an endless header', () => gzipSync(Buffer.alloc(8 << 20, 0x20))],
  ['has another format', () => whole(partsOf(ONE), { capsule: 2 })],
  ['has no list of files', () => whole(partsOf(ONE), { files: {} })],
  ['has another run', () => whole(partsOf(ONE), { run: 'run-2' })],
  ['has a run with ../', () => whole(partsOf(ONE), { run: '../run-1' })],
  ...[
    '../agent.mjs',
    'runs/../../agent.tape',
    'runs/run-1.children/../x.tape',
    '/tmp/x.tape',
    'runs\\run-1.tape',
    'runs/a/b.tape',
    'sources/agent.mjs',
    'runs/index.jsonl',
    `runs/${'x'.repeat(300)}.tape`,
  ].map((name): [string, () => Buffer] => [
    `has a file named ${name.slice(0, 40)}`,
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      return made({ capsule: 1, run: 'run-1', files: [tapeEntry, entry(name, 'x')] }, tape, 'x')
    },
  ]),
  [
    'has a file twice',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      return made({ capsule: 1, run: 'run-1', files: [tapeEntry, tapeEntry] }, tape, tape)
    },
  ],
  [
    'announces 1 TB',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      const large = { ...entry(`sources/${sha}`, ''), bytes: 2 ** 40 }
      return made({ capsule: 1, run: 'run-1', files: [tapeEntry, large] }, tape)
    },
  ],
  [
    'announces a negative size',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      const negative = { ...entry(`sources/${sha}`, ''), bytes: -1 }
      return made({ capsule: 1, run: 'run-1', files: [tapeEntry, negative] }, tape)
    },
  ],
  [
    'has a large source file',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      const large = Buffer.alloc(17 << 20)
      const files = [tapeEntry, listEntry, entry(`sources/${sha}`, large, { masked: [[0, 1]] })]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, large)
    },
  ],
  [
    'has a wrong digest',
    () => {
      const { tape, tapeEntry, sources } = partsOf(ONE)
      const wrong = { ...tapeEntry, sha256: shaOf('other') }
      const files = [wrong, ...sources.map((each) => each.entry)]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, 'agent\n')
    },
  ],
  [
    'has an edited tape of a process',
    () => {
      const { tape, tapeEntry, sources } = partsOf(ONE)
      const edited = childTape()
      edited.write('X', edited.indexOf('exitCode'))
      const child = entry('runs/run-1.children/run-1-3.tape', edited)
      const files = [tapeEntry, ...sources.map((each) => each.entry), child]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, 'agent\n', edited)
    },
  ],
  [
    'has other code than was recorded',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      const files = [tapeEntry, listEntry, entry(`sources/${sha}`, 'other\n')]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, 'other\n')
    },
  ],
  [
    'masks bytes outside of a file',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      const files = [tapeEntry, listEntry, entry(`sources/${sha}`, 'other\n', { masked: [[3, 9]] })]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, 'other\n')
    },
  ],
  [
    'lacks code',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      return made({ capsule: 1, run: 'run-1', files: [tapeEntry, listEntry] }, tape, LIST)
    },
  ],
  [
    'lacks the list of its files',
    () => {
      const { tape, tapeEntry } = partsOf(ONE)
      const files = [tapeEntry, entry(`sources/${sha}`, 'agent\n')]
      return made({ capsule: 1, run: 'run-1', files }, tape, 'agent\n')
    },
  ],
  ...(['{"files":{}}', LIST.replace('agent.mjs', 'other.mjs')] as const).flatMap((edited) =>
    [{}, { masked: [[0, 5]] }].map((more): [string, () => Buffer] => [
      `has an edited list of files, ${JSON.stringify(more)}`,
      () => {
        const { tape, tapeEntry } = partsOf(ONE)
        const wrong = entry(`sources/${shaOf(LIST)}`, edited, more)
        const files = [tapeEntry, wrong, entry(`sources/${sha}`, 'agent\n')]
        return made({ capsule: 1, run: 'run-1', files }, tape, edited, 'agent\n')
      },
    ]),
  ),
  ...['[]', '{"files":{"agent.mjs":7}}', 'agent.mjs', '{"files":{"a\\u0000b":"x"}}'].map(
    (text): [string, () => Buffer] => [
      `names ${text} as its list of files`,
      () => {
        const code = { list: shaOf(text), files: 1 }
        const { tape, tapeEntry } = partsOf(ONE, { code })
        const files = [tapeEntry, entry(`sources/${shaOf(text)}`, text)]
        return made({ capsule: 1, run: 'run-1', files }, tape, text)
      },
    ],
  ),
  ...(
    [
      ['../../outside.mjs', 'agent.mjs'],
      ['lib.mjs', '/etc/passwd'],
      ['.npmrc', 'agent.mjs'],
    ] as const
  ).map(([link, target]): [string, () => Buffer] => [
    `links ${link} to ${target}`,
    () => {
      const list = JSON.stringify({ ...JSON.parse(LIST), links: { [link]: target } })
      const { tape, tapeEntry } = partsOf(ONE, { code: { list: shaOf(list), files: 1 } })
      const files = [
        tapeEntry,
        entry(`sources/${shaOf(list)}`, list),
        entry(`sources/${sha}`, 'agent\n'),
      ]
      return made({ capsule: 1, run: 'run-1', files }, tape, list, 'agent\n')
    },
  ]),
  [
    'has code that no tape names',
    () => {
      const { tape, tapeEntry, sources } = partsOf(ONE)
      const files = [
        tapeEntry,
        ...sources.map((each) => each.entry),
        entry(`sources/${shaOf('x')}`, 'x'),
      ]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, 'agent\n', 'x')
    },
  ],
  [
    'has a tape that is none',
    () => made({ capsule: 1, run: 'run-1', files: [entry('runs/run-1.tape', 'text')] }, 'text'),
  ],
  [
    'has an edited tape',
    () => {
      const { tape, sources } = partsOf(ONE)
      const edited = Buffer.from(tape)
      edited.write('X', edited.indexOf('agent.mjs'))
      const files = [entry('runs/run-1.tape', edited), ...sources.map((each) => each.entry)]
      return made({ capsule: 1, run: 'run-1', files }, edited, LIST, 'agent\n')
    },
  ],
  [
    'has the tape of another run',
    () => {
      const { tape, sources } = partsOf(ONE)
      const files = [entry('runs/run-2.tape', tape), ...sources.map((each) => each.entry)]
      return made({ capsule: 1, run: 'run-2', files }, tape, 'agent\n')
    },
  ],
  [
    'has a foreign tape beside its own',
    () => {
      const { tape, tapeEntry, sources } = partsOf(ONE)
      const files = [
        tapeEntry,
        ...sources.map((each) => each.entry),
        entry('runs/run-2.tape', tape),
      ]
      return made({ capsule: 1, run: 'run-1', files }, tape, LIST, 'agent\n', tape)
    },
  ],
  [
    'has the trace of another tool',
    () => whole(partsOf(ONE, { imported: { from: 'otlp', trace: 'a', source: 'b' } as never })),
  ],
  ...[
    '../../agent.mjs',
    '/etc/agent.mjs',
    'C:\\agent.mjs',
    '..\\..\\agent.mjs',
    '.git/config',
    '.npmrc',
    'retake.config.mjs',
    'a/node_modules/b.js',
  ].map((name): [string, () => Buffer] => [
    `has code at ${name}`,
    () => whole(partsOf({ [name]: 'agent\n' })),
  ]),
])('a capsule that %s is refused, and nothing is written', async (_, capsule) => {
  const outer = temporary()
  const into = path.join(outer, 'into')
  mkdirSync(into)
  const file = path.join(outer, 'hostile.retake')
  writeFileSync(file, capsule())
  await expect(unpackIn(file, into)).rejects.toMatchObject({ code: 'CAPSULE_INVALID' })
  expect(filesBelow(outer)).toEqual(['hostile.retake'])
})

test('a capsule that announces too much is refused before it is unpacked', async () => {
  const file = path.join(temporary(), 'large.retake')
  const { tape, tapeEntry } = partsOf(ONE)
  const large = { ...entry(`sources/${sha}`, ''), bytes: 2 ** 30 }
  writeFileSync(file, made({ capsule: 1, run: 'run-1', files: [tapeEntry, large] }, tape))
  await expect(unpackIn(file, temporary())).rejects.toThrow(/larger than 1 GB/)
})

test('tapes of processes that the run started are in its capsule', async () => {
  const folder = temporary()
  const tape = runWith(folder)
  const children = path.join(folder, '.retake/runs/run-1.children')
  mkdirSync(children)
  writeFileSync(path.join(children, 'run-1-3.tape'), childTape())
  const out = path.join(folder, 'out.retake')
  expect(await packCapsule(tape, out, { allowsSecrets: false })).toMatchObject({ tapes: 2 })
  const into = temporary()
  await unpackIn(out, into)
  expect(openTape(path.join(into, '.retake/runs/run-1.children/run-1-3.tape')).verify().ok).toBe(
    true,
  )
})

test.each<[string, (into: string) => void]>([
  ['a file with another content', (into) => writeFileSync(path.join(into, 'package.json'), '{}')],
  ['a link to a file', (into) => symlinkSync('/etc/hostname', path.join(into, 'package.json'))],
  ['a link to nothing', (into) => symlinkSync('nothing', path.join(into, 'package.json'))],
  ['a link to a folder', (into) => symlinkSync(tmpdir(), path.join(into, 'lib'))],
  ['a file in place of a folder', (into) => writeFileSync(path.join(into, 'lib'), '')],
  ['a folder in place of a file', (into) => mkdirSync(path.join(into, 'agent.mjs'))],
  [
    'another run with the same name',
    (into) => {
      mkdirSync(path.join(into, '.retake/runs'), { recursive: true })
      writeFileSync(path.join(into, '.retake/runs/run-1.tape'), 'other')
    },
  ],
])('%s in the way is an error, and nothing is changed', async (_, prepare) => {
  const { out } = await packed()
  const into = temporary()
  prepare(into)
  const before = filesBelow(into)
  await expect(unpackIn(out, into)).rejects.toMatchObject({ code: 'CAPSULE_CONFLICT' })
  expect(filesBelow(into)).toEqual(before)
})

test('a failure while writing removes what was written', async () => {
  const { out } = await packed()
  const into = temporary()
  mkdirSync(path.join(into, '.retake'))
  // A dangling link cannot become a folder.
  symlinkSync('nothing', path.join(into, 'lib'))
  const before = filesBelow(into)
  await expect(unpackIn(out, into)).rejects.toMatchObject({ code: 'FILE_NOT_WRITABLE' })
  expect(filesBelow(into).filter((file) => !file.startsWith('.retake'))).toEqual(before)
})
