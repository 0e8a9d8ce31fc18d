import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const library = new URL('../../packages/cli/bundle/index.js', import.meta.url).href

/** Programs with the same files. Each sends all that it computes from them, so a change is noticed. */
export const PROGRAMS = ['plain', 'TypeScript', 'tsx', 'function'] as const
export type Program = (typeof PROGRAMS)[number]

const isTyped = (program: Program): boolean => program === 'TypeScript' || program === 'tsx'

const FETCH = `export async function ask(content: string) {
  const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: content })
  const { seen } = await response.json()
  return seen
}
`
const OPENAI = `import OpenAI from 'openai'

export async function ask(content: string) {
  const client = new OpenAI({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL + '/v1', maxRetries: 0 })
  const { choices } = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] })
  const seen = choices[0]?.message.content ?? ''
  return seen
}
`
const HANDLE = `async (name: string) => {
  const sent = [prompt, letter(name), tone, config.currency, rules.join(), limit, signature].join(' | ')
  const seen = await ask(sent)
  const price = limit + Math.random()
  const confirmed = await ask('confirm ' + price.toFixed(3) + ' of ' + seen)
  return confirmed
}`
const AGENT = `import { readFileSync } from 'node:fs'
import { tone } from 'tone'
import config from './config.json' with { type: 'json' }
import { rules } from './generated/rules.mjs'
import { ask } from './lib/ask.mjs'
import { letter } from './lib/letters.mjs'
import { limit } from './lib/limits.js'
import { signature } from './lib/signature.mjs'

const prompt = readFileSync(new URL('./prompts/system.md', import.meta.url), 'utf8').trim()
`
const SERVER = `import { record } from '${library}'
import { handle } from './agent.mjs'
await record({ name: 'desk', input: 'Ann' }, handle)
`
const LETTERS = `import { greeting } from './words.mjs'
// ts: export enum Mood { Calm = 'calm' }

export function letter(name: string, closing = 'Regards') {
  const words = [greeting, name, closing]
  const text = words.join(' ')
  return text
}
`
const manifestOf = (version: string): string =>
  JSON.stringify({ name: 'tone', version, type: 'module', main: 'index.js' })
const TARBALL = 'tone-1.0.0.tgz'
const ROOT = { name: 'desk', version: '1.0.0', dependencies: { tone: `file:${TARBALL}` } }

/** Links by name; every other file has this text. */
const LINKS: Readonly<Record<string, string>> = { 'lib/signature.mjs': '../shared/signature.mjs' }

function filesOf(program: Program): Readonly<Record<string, string>> {
  const isFunction = program === 'function'
  return {
    'package.json': JSON.stringify(ROOT),
    'package-lock.json': JSON.stringify({
      name: 'desk',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: {
        '': ROOT,
        'node_modules/tone': { version: '1.0.0', resolved: `file:${TARBALL}` },
      },
    }),
    'config.json': '{ "currency": "EUR" }\n',
    'prompts/system.md': 'Be brief.\n',
    'generated/rules.mjs': `export const rules = ['no refunds', 'no cash']\n`,
    'lib/ask.mjs': isTyped(program) ? OPENAI : FETCH,
    'lib/letters.mjs': LETTERS,
    'lib/words.mjs': `export const greeting = 'Dear'\n`,
    'lib/limits.js': 'exports.limit = 40\n',
    'shared/signature.mjs': `export const signature = 'the desk'\n`,
    'shared/other-signature.mjs': `export const signature = 'the manager'\n`,
    'agent.mjs': isFunction
      ? `import { defineAgent } from '${library}'\n${AGENT}
export const handle = defineAgent('agent.mjs#handle', ${HANDLE})\n`
      : `${AGENT}\nconst handle = ${HANDLE}\nvoid handle('Ann').then(console.log)\n`,
    ...(isFunction && { 'server.mjs': SERVER }),
    'package/package.json': manifestOf('1.0.0'),
    'package/index.js': `export const tone = 'polite'\n`,
  }
}

/** A project of a user with recorded runs, whose files can be edited and restored. */
export class EditedProject {
  constructor(
    readonly folder: string,
    readonly program: Program,
  ) {}

  get entry(): string {
    return this.nameOf('agent.mjs')
  }

  /** The name of a source file in this program. */
  nameOf(name: string): string {
    return isTyped(this.program) ? name.replace(/\.mjs$/, '.ts') : name
  }

  /** Removes everything but the runs, and writes the files of the recording. */
  restore(): void {
    for (const name of readdirSync(this.folder))
      if (name !== '.retake' && !name.endsWith('.tgz') && !name.endsWith('.html'))
        rmSync(join(this.folder, name), { recursive: true })
    for (const [name, text] of Object.entries(filesOf(this.program))) this.write(name, text)
    for (const [name, target] of Object.entries(LINKS)) this.link(name, target)
    this.install('1.0.0')
    for (const name of ['openai', 'tsx']) this.#linkPackage(name, name)
    this.useTypeScript(5)
  }

  install(version: string, tone = 'polite'): void {
    this.write('node_modules/tone/package.json', manifestOf(version))
    this.write('node_modules/tone/index.js', `export const tone = '${tone}'\n`)
  }

  useTypeScript(version: 5 | 7): void {
    this.#linkPackage('typescript', version === 5 ? 'typescript-5' : 'typescript')
  }

  read(name: string): string {
    return readFileSync(this.#pathOf(name), 'utf8')
  }

  write(name: string, text: string): void {
    const file = this.#pathOf(name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, this.#spelled(name, text))
  }

  replace(name: string, before: string, after: string): void {
    const text = this.read(name)
    const [from, to] = [this.#spelled(name, before), this.#spelled(name, after)]
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
    writeFileSync(this.#pathOf(name), text.replaceAll(from, to))
  }

  move(from: string, to: string): void {
    mkdirSync(dirname(this.#pathOf(to)), { recursive: true })
    renameSync(this.#pathOf(from), this.#pathOf(to))
  }

  remove(name: string): void {
    rmSync(this.#pathOf(name), { recursive: true })
  }

  link(name: string, target: string): void {
    const file = this.#pathOf(name)
    if (lstatSync(file, { throwIfNoEntry: false })) rmSync(file)
    symlinkSync(this.nameOf(target), file)
  }

  /** Source files that somebody wrote, without links. */
  sources(): string[] {
    return Object.keys(filesOf(this.program)).filter(
      (name) => /\.(?:mjs|js)$/.test(name) && !name.startsWith('package/'),
    )
  }

  #linkPackage(name: string, target: string): void {
    const link = join(this.folder, 'node_modules', name)
    if (existsSync(link)) rmSync(link)
    symlinkSync(join(repository, 'node_modules', target), link, 'junction')
  }

  #pathOf(name: string): string {
    return join(this.folder, this.nameOf(name))
  }

  /** In TypeScript, imports end in `.js`; types are left out of JavaScript. */
  #spelled(name: string, text: string): string {
    if (!name.endsWith('.mjs')) return text
    if (!isTyped(this.program)) return text.replaceAll(': string', '')
    return text.replaceAll(/(from '\.[^']*)\.mjs'/g, "$1.js'").replaceAll('// ts: ', '')
  }
}

export interface Edit {
  readonly apply: (project: EditedProject) => void
  /** What today's code does. `perhaps`: depends on the program and on Node. */
  readonly behaves: 'the same' | 'differently' | 'perhaps'
  /** What a replay that differs names as changed; one of them is enough. */
  readonly names?: readonly string[]
  /** Programs that have it. */
  readonly of?: readonly Program[]
}

/** Edits as people make them between two runs. */
export const EDITS: Readonly<Record<string, Edit>> = {
  'another prompt': {
    apply: (project) => project.replace('lib/words.mjs', 'Dear', 'Hi'),
    behaves: 'differently',
    names: ['lib/words.mjs'],
  },
  'moved lines': {
    apply: (project) => {
      for (const name of project.sources())
        project.write(name, `// A note\n\n${project.read(name)}`)
    },
    behaves: 'the same',
  },
  'code in other files': {
    apply: (project) => {
      project.move('lib/words.mjs', 'lib/vocabulary.mjs')
      project.replace('lib/letters.mjs', `from './words.mjs'`, `from './vocabulary.mjs'`)
      project.move('lib/ask.mjs', 'model/ask.mjs')
      project.replace('agent.mjs', `from './lib/ask.mjs'`, `from './model/ask.mjs'`)
    },
    behaves: 'the same',
  },
  'a deleted file': {
    apply: (project) => project.remove('lib/words.mjs'),
    behaves: 'differently',
    names: ['lib/words.mjs'],
  },
  'a renamed folder': {
    apply: (project) => {
      project.move('lib', 'source')
      project.replace('agent.mjs', './lib/', './source/')
    },
    behaves: 'the same',
  },
  'another version of TypeScript': {
    apply: (project) => project.useTypeScript(7),
    behaves: 'the same',
    of: ['TypeScript', 'tsx'],
  },
  'another version of a package': {
    apply: (project) => project.install('1.1.0'),
    behaves: 'the same',
  },
  'a renamed function': {
    apply: (project) => {
      project.replace('lib/letters.mjs', 'letter(', 'compose(')
      project.replace('agent.mjs', '{ letter }', '{ compose }')
      project.replace('agent.mjs', 'letter(name)', 'compose(name)')
    },
    behaves: 'the same',
  },
  'another default argument': {
    apply: (project) => project.replace('lib/letters.mjs', 'Regards', 'Yours'),
    behaves: 'differently',
    names: ['lib/letters.mjs'],
  },
  'another value in a JSON file': {
    apply: (project) => project.replace('config.json', 'EUR', 'USD'),
    behaves: 'differently',
    names: ['config.json'],
  },
  'a new import': {
    apply: (project) => {
      project.write('lib/titles.mjs', `export const title = 'Dr '\n`)
      const text = project
        .read('lib/letters.mjs')
        .replace('greeting, name', 'greeting, title, name')
      project.write('lib/letters.mjs', `import { title } from './titles.mjs'\n${text}`)
    },
    behaves: 'differently',
    names: ['lib/letters.mjs'],
  },
  'a removed import': {
    apply: (project) => {
      project.replace('lib/letters.mjs', `import { greeting } from './words.mjs'\n`, '')
      project.replace('lib/letters.mjs', '[greeting, ', '[')
    },
    behaves: 'differently',
    names: ['lib/letters.mjs'],
  },
  'another prompt file': {
    apply: (project) => project.write('prompts/system.md', 'Be friendly.\n'),
    // Inside a run, the recorded content is served.
    behaves: 'perhaps',
    names: ['prompts/system.md'],
  },
  'a syntax error': {
    apply: (project) => project.write('lib/words.mjs', 'export cons\n'),
    behaves: 'differently',
    names: ['lib/words.mjs'],
  },
  'a file turned into TypeScript': {
    apply: (project) => {
      project.remove('lib/words.mjs')
      writeFileSync(join(project.folder, 'lib/words.mts'), `export const greeting: string = 'Hi'\n`)
      project.replace('lib/letters.mjs', `from './words.mjs'`, `from './words.mts'`)
    },
    behaves: 'differently',
    names: ['lib/words.mjs'],
  },
  'a TypeScript file where JavaScript was': {
    apply: (project) => {
      project.remove('lib/limits.js')
      project.write('lib/limits.ts', 'export const limit: number = 50\n')
    },
    behaves: 'differently',
    names: ['lib/limits.js'],
    of: ['TypeScript', 'tsx'],
  },
  'CRLF line ends': {
    apply: (project) => {
      for (const name of project.sources())
        project.write(name, project.read(name).replaceAll('\n', '\r\n'))
    },
    behaves: 'the same',
  },
  'comments only': {
    apply: (project) => {
      for (const name of project.sources())
        project.write(name, project.read(name).replaceAll('\n', ' // so it is\n'))
    },
    behaves: 'the same',
  },
  'another package type': {
    apply: (project) => project.write('package.json', JSON.stringify({ ...ROOT, type: 'module' })),
    // The file that exports with `exports` becomes a module, except for tsx.
    behaves: 'perhaps',
    names: ['package.json'],
  },
  'a package.json in a folder': {
    apply: (project) => project.write('lib/package.json', '{ "type": "module" }'),
    behaves: 'perhaps',
    names: ['lib/package.json'],
  },
  'a moved entry': {
    apply: (project) => {
      project.move('agent.mjs', 'src/agent.mjs')
      project.replace('src/agent.mjs', `'./`, `'../`)
    },
    behaves: 'differently',
    names: ['agent.mjs'],
  },
  'a link to another source': {
    apply: (project) => project.link('lib/signature.mjs', '../shared/other-signature.mjs'),
    behaves: 'differently',
    names: ['lib/signature.mjs', 'shared/signature.mjs'],
  },
  'a link in place of a source': {
    apply: (project) => {
      project.move('lib/words.mjs', 'shared/words.mjs')
      project.replace('shared/words.mjs', 'Dear', 'Hi')
      project.link('lib/words.mjs', '../shared/words.mjs')
    },
    behaves: 'differently',
    names: ['lib/words.mjs'],
  },
  'a generated file': {
    apply: (project) => project.write('generated/rules.mjs', `export const rules = ['none']\n`),
    behaves: 'differently',
    names: ['generated/rules.mjs'],
  },
  'nothing left': {
    apply: (project) => {
      for (const name of ['agent.mjs', 'lib', 'shared', 'generated', 'config.json', 'package.json'])
        project.remove(name)
    },
    behaves: 'differently',
    names: ['agent.mjs'],
  },
}
