/**
 * Ten typical edits on three agents: how many requests a rerun sends, compared with a full run
 * and with nock and Polly.js, which serve what they recorded and send the rest.
 *
 * The model answers every different request differently: the worst case for whoever serves
 * recorded answers after a change.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startModelServer } from '@retake/engine/testing'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const retake = join(root, 'packages/cli/bin/retake.mjs')
const sources = join(import.meta.dirname, 'edits')
const recorder = pathToFileURL(join(sources, 'record-http.mjs')).href

const AGENTS = { 'OpenAI loop': 'openai-loop', LangGraph: 'langgraph', 'AI SDK': 'ai-sdk' }
const PEERS = ['nock', 'polly']
const RULES = 'Orders can be returned within 30 days.\n'

/** Releases of the SDKs before those of this repository. */
const OLDER = {
  minor: [
    'openai@6.0.0',
    'ai@6.0.0',
    '@ai-sdk/openai@3.0.0',
    '@langchain/openai@1.0.0',
    '@langchain/langgraph@1.0.0',
    '@langchain/core@1.1',
    'zod@4',
  ],
  major: [
    'openai@5.23.2',
    'ai@5.0.277',
    '@ai-sdk/openai@2.0.131',
    '@langchain/openai@0.6.17',
    '@langchain/langgraph@0.4.10',
    '@langchain/core@0.3',
    'zod@4',
  ],
}

const shopPattern = /const shop = [^]*?\n}\n/

/**
 * Effect of an edit on the program. `flags` of the rerun are tried in addition to none; `before`
 * names the packages with which the run was recorded.
 *
 * @type {readonly { name: string, edit?: (source: string) => string, files?: (source: string) => Record<string, string>, flags?: readonly string[], before?: keyof typeof OLDER }[]}
 */
const EDITS = [
  { name: 'none' },
  {
    name: 'log line',
    edit: (source) => source.replace('const shop', `console.error('start')\nconst shop`),
  },
  {
    name: 'clock read',
    edit: (source) => source.replace('const shop', 'const startedAt = Date.now()\nconst shop'),
  },
  {
    name: 'renamed variable',
    edit: (source) =>
      source
        .replaceAll('letter', 'finalLetter')
        .replaceAll('finalLetters.', 'letters.')
        .replace('a finalLetter to', 'a letter to'),
  },
  {
    name: 'refactoring to another file',
    edit: (source) => source.replace(shopPattern, `import { shop } from './shop.mjs'\n`),
    files: (source) => ({ 'shop.mjs': `export ${shopPattern.exec(source)?.[0]}` }),
  },
  {
    name: 'system prompt word',
    edit: (source) => source.replace('a clerk of', 'a friendly clerk of'),
  },
  {
    name: '– with `--from` the last step',
    edit: (source) => source.replace('a clerk of', 'a friendly clerk of'),
    flags: ['--from', 'last'],
  },
  {
    name: '– with `--ignore system`',
    edit: (source) => source.replace('a clerk of', 'a friendly clerk of'),
    flags: ['--ignore', 'system'],
  },
  {
    name: 'user prompt word',
    edit: (source) => source.replace('Refund order', 'Please refund order'),
  },
  { name: 'prompt file', files: () => ({ 'rules.md': RULES.replace('30', '60') }) },
  {
    name: 'tool description',
    edit: (source) => source.replace('Finds an order', 'Looks up an order'),
  },
  {
    name: 'new tool call first',
    edit: (source) =>
      source.replace(/(?=\nconst (?:messages|{ messages }) = )/, `\nawait shop('/orders/1')`),
  },
  { name: 'SDK minor update', before: 'minor' },
  { name: 'SDK major update', before: 'major' },
]

/** Installs older SDKs once. Undefined if the registry cannot be reached. */
async function installed(kind) {
  const folder = join(root, 'node_modules/.cache/retake-edits', kind)
  const modules = join(folder, 'node_modules')
  if (existsSync(modules)) return modules
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  try {
    await run('npm', ['install', ...flags, ...OLDER[kind]], { cwd: folder, timeout: 300_000 })
    return modules
  } catch (error) {
    console.error(`edits: SDKs of the last ${kind} release are not installed: ${error.message}`)
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
}

/** The model, and the service behind the tools. */
async function startWorld() {
  const model = await startModelServer({
    answer: ({ body: { messages, tools } }) => {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
      const results = since.filter(({ role }) => role === 'tool').length
      const asked = JSON.stringify(since[0].content)
      const name = /refund/i.test(asked) ? ['find_order', 'refund'][results] : undefined
      if (tools && name) return { toolCalls: [{ name, args: { id: '1182' }, id: `call_${name}` }] }
      const said = messages.map(({ role, content }) => [role, content])
      const digest = createHash('sha256')
        .update(JSON.stringify([said, tools]))
        .digest('hex')
      return { text: `Done, reference ${digest.slice(0, 8)}.` }
    },
  })
  const calls = []
  const shop = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end(`${request.url}: fine`))
  })
  await new Promise((resolve) => shop.listen(0, '127.0.0.1', resolve))
  const env = { ...model.env, SHOP_URL: `http://127.0.0.1:${shop.address().port}` }
  return {
    env,
    counts: () => ({
      model: model.requests.length,
      shop: calls.length,
      effects: calls.filter((call) => call.startsWith('POST')).length,
    }),
    async stop() {
      shop.closeAllConnections()
      shop.close()
      await model.stop()
    },
  }
}

/** One agent in a folder of its own, recorded by everybody with the same packages. */
class Scene {
  constructor(folder, agent, world) {
    Object.assign(this, {
      folder,
      world,
      source: readFileSync(join(sources, `${agent}.mjs`), 'utf8'),
    })
  }

  write(files, modules) {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text)
    const link = join(this.folder, 'node_modules')
    rmSync(link, { force: true })
    symlinkSync(modules, link, 'junction')
  }

  /** Runs a program here; resolves with what it printed and what it sent. */
  async run(args, env = {}) {
    const before = this.world.counts()
    const { RETAKE_MODE: _, ...own } = process.env
    const finished = await run(process.execPath, args, {
      cwd: this.folder,
      env: { ...own, ...this.world.env, NO_COLOR: '1', ...env },
      timeout: 120_000,
    }).catch((error) => ({ ...error, stdout: error.stdout ?? '', stderr: error.stderr ?? '' }))
    const after = this.world.counts()
    const sent = Object.fromEntries(
      Object.keys(after).map((key) => [key, after[key] - before[key]]),
    )
    return { stdout: finished.stdout, stderr: finished.stderr, code: finished.code ?? 0, sent }
  }

  peer(name, mode) {
    const folder = join(this.folder, name)
    mkdirSync(folder, { recursive: true })
    const env = { EDITS_PEER: name, EDITS_MODE: mode, EDITS_FOLDER: folder }
    return this.run(['--import', recorder, 'agent.mjs'], env)
  }

  async record(modules) {
    this.write({ 'agent.mjs': this.source, 'rules.md': RULES }, modules)
    const recorded = await this.run([retake, 'record', 'agent.mjs'])
    if (recorded.code !== 0) throw new Error(`not recorded: ${recorded.stderr}`)
    this.id = /recorded (\S+)/.exec(recorded.stderr)?.[1] ?? 'last'
    for (const peer of PEERS) {
      const made = await this.peer(peer, 'record')
      if (made.code !== 0) throw new Error(`${peer} did not record: ${made.stderr}`)
    }
  }

  /** Everybody on the same edited program. */
  async compare({ edit = (source) => source, files = () => ({}), flags = [] }) {
    const text = edit(this.source)
    this.write(
      { 'agent.mjs': text, 'rules.md': RULES, ...files(this.source) },
      join(root, 'node_modules'),
    )
    const full = await this.run(['agent.mjs'])
    if (full.code !== 0) throw new Error(`the edited agent fails: ${full.stderr}`)
    const steps = full.sent.model + full.sent.shop
    const given = flags.map((flag) => (flag === 'last' ? String(steps) : flag))
    const rerun = await this.run([retake, 'rerun', this.id, ...given, '--json'])
    const json = JSON.parse(rerun.stderr.split('\n').find((line) => line.startsWith('{')) ?? '{}')
    const answers = json.steps?.map(({ answer }) => answer) ?? Array(steps).fill('served')
    const count = (answer) => answers.filter((each) => each === answer).length
    const rows = {
      full: full.sent,
      retake: {
        ...rerun.sent,
        served: count('served'),
        pinned: count('pinned'),
        usd: json.facts?.paidUsd ?? 0,
        isRight: rerun.stdout === full.stdout,
        isWell: rerun.code === 0,
        stderr: rerun.stderr,
      },
    }
    if (flags.length > 0) return rows
    for (const name of PEERS) {
      const replayed = await this.peer(name, 'replay')
      rows[name] = {
        ...replayed.sent,
        isRight: replayed.stdout === full.stdout,
        isWell: replayed.code === 0,
        stderr: replayed.stderr,
      }
    }
    return rows
  }
}

/**
 * @param {{ quick: boolean, only?: string }} options `only`: the file of one agent.
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick, only }) {
  const agents = Object.entries(AGENTS)
    .filter(([, file]) => only === undefined || file === only)
    .slice(0, quick ? 1 : undefined)
  const edits = quick ? EDITS.filter(({ name }) => /log|user|from/.test(name)) : EDITS
  const rows = []
  console.error(`${cells(COLUMNS)}\n${cells(COLUMNS.map(() => '---'))}`)
  for (const [agent, file] of agents) {
    const world = await startWorld()
    for (const before of [undefined, 'minor', 'major']) {
      const chosen = edits.filter((edit) => edit.before === before)
      const modules = before ? await installed(before) : join(root, 'node_modules')
      if (chosen.length === 0 || modules === undefined) continue
      await withTemporaryFolder(async (folder) => {
        const scene = new Scene(folder, file, world)
        await scene.record(modules)
        for (const edit of chosen) {
          const { name, flags } = edit
          const row = { agent, edit: name, flags, ...(await scene.compare(edit)) }
          console.error(lineOf(row))
          rows.push(row)
        }
      })
    }
    await world.stop()
  }
  return summary(rows)
}

/** Requests to the model, and to the service with how many of them changed something. */
const sentText = (sent) =>
  sent === undefined
    ? ''
    : `${sent.model} + ${sent.shop}${sent.effects > 0 ? ` (${sent.effects}!)` : ''}${sent.isWell === false ? ' failed' : sent.isRight === false ? ' ≠' : ''}`

const COLUMNS = [
  'agent',
  'edit',
  'served',
  'pinned',
  'paid',
  'rerun sends',
  'full run',
  'nock',
  'Polly.js',
]

/** A line of the table in bench/notes/benchmarks.md. */
const lineOf = ({ agent, edit, full, retake: own, nock, polly }) =>
  cells([
    agent,
    edit,
    own.served,
    own.pinned,
    own.usd === 0 ? '$0' : `$${own.usd.toFixed(6)}`,
    sentText(own),
    sentText(full),
    sentText(nock),
    sentText(polly),
  ])

const cells = (texts) => `| ${texts.join(' | ')} |`

/** @returns {import('./measure/row.mjs').Row[]} */
function summary(rows) {
  const plain = rows.filter(({ flags }) => flags === undefined)
  const sum = (key) => plain.reduce((total, row) => total + row[key].model, 0)
  const wrong = (key) => plain.filter((row) => !row[key].isRight).length
  const effects = (key) => plain.reduce((total, row) => total + row[key].effects, 0)
  const full = sum('full')
  const method = (key) =>
    `${sum(key)} of ${full} requests to the model, ${effects(key)} of ${effects('full')} effects repeated, ${wrong(key)} of ${plain.length} with another result than a full run`
  return [
    {
      name: 'requests of a rerun to the model / of a full run',
      ratio: sum('retake') / full,
      gate: { max: 0.5 },
      method: method('retake'),
    },
    {
      name: 'effects that a rerun repeats',
      ratio: effects('retake'),
      gate: { max: 0 },
      method: method('retake'),
    },
    {
      name: 'reruns with another result than a full run',
      ratio: wrong('retake'),
      gate: { max: 0 },
      method: method('retake'),
    },
    ...PEERS.map((name) => ({
      name: `requests with ${name} / of a full run`,
      ratio: sum(name) / full,
      method: method(name),
    })),
  ]
}

if (import.meta.filename === process.argv[1]) {
  const { formatTable } = await import('./measure/table.mjs')
  console.log(formatTable(await measure({ quick: false, only: process.argv[2] })))
}
