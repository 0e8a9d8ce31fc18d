/**
 * Calls every tool of some tables under three policies and prints each call, and what was different
 * from a plain one. Started by ordinary-tools.test.ts with each Node, with and without a sandbox:
 *
 *     node run-tools.mjs <plain|function|module> <table.mjs…>
 *
 * `plain` calls the functions without a guard, to check the tables. `function` guards the functions,
 * `module` runs them as sandboxed tools. `RETAKE_TOOLS=name,name` limits it to these tools,
 * `RETAKE_TOOLS_SAMPLE=3` to every third, each under one of the policies.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { startServers } from './servers.mjs'
import { sliceModule } from './slice-module.mjs'

const [mode, ...tables] = process.argv.slice(2)
const files = tables.map((each) => path.resolve(each))
const hasSandbox = process.env.RETAKE_SANDBOX !== 'off'

const project = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-tools-')))
process.chdir(project)
process.on('exit', () => {
  process.chdir(tmpdir())
  rmSync(project, { recursive: true, force: true })
})

// Programs import Retake before their tools or after them.
const loadRetake = () => import('retake')
if (hasSandbox) await loadRetake()
const modules = []
for (const file of files) modules.push({ file, ...(await import(pathToFileURL(file))) })
const { guard, loadPolicy, presets } = await loadRetake()

const servers = await startServers(new Set(modules.flatMap(({ servers = [] }) => servers)))

/** The three policies, each for one row. */
const policies = {
  sandbox: ({ read, addresses, programs }) =>
    presets.sandbox({ root: './work', read, addresses, programs }),
  combined: ({ name, effects, read, addresses, programs, changes }) => [
    presets.strict({ allow: name }),
    // The sandbox cannot see methods, so that nothing gets out of it under readOnly.
    ...(changes ||
    (mode === 'module' && effects.includes('network')) ||
    effects.includes('write') ||
    effects.includes('shell')
      ? [
          presets.network({ allow: [], addresses }),
          presets.noShell({ except: programs }),
          {
            name: 'files',
            files: {
              ...(effects.includes('shell') && { read: ['./work', ...read] }),
              write: ['./work/out'],
            },
          },
        ]
      : [presets.readOnly({ read: ['./work', ...read], hosts: [], addresses })]),
  ],
  file: async ({ name, read, addresses, programs }) => {
    const file = path.join(project, 'policy.yaml')
    const policy = {
      files: { read: ['./work', ...read], write: ['./work/out'] },
      network: { allow: ['api.example.com', '*.example.org'], addresses },
      shell: { allow: programs },
      limits: {
        calls: 1000,
        concurrency: 4,
        repeats: 20,
        timeoutMs: 20_000,
        outputBytes: 1_000_000,
      },
      rules: [
        { id: 'mail', deny: 'delete_*', because: 'Nothing is deleted.' },
        { id: 'large', deny: '*', when: { amount: { over: 100 } } },
        { id: 'copied', deny: '*', tainted: { from: ['web_*'] }, effect: ['write', 'spend'] },
        { id: 'listed', allow: name },
      ],
    }
    // JSON is YAML.
    writeFileSync(file, `name: tools\ndefault: deny\n${yaml(policy)}`)
    return loadPolicy(file)
  },
}

const yaml = (policy) =>
  Object.entries(policy)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('')

const isExpected = (output, expected) =>
  expected instanceof RegExp ? expected.test(output) : isDeepStrictEqual(output, expected)

const report = (row) => console.log(`\u0001${JSON.stringify(row)}`)
let current = ''
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => report({ name: current, problem: `${event}: ${error?.stack}` }))

/** Files that tools work with. */
const FILES = {
  'notes/todo.txt': 'Buy milk\nCall Ann\nPay rent\n',
  'notes/readme.md': '# Title\n\nSome *text* with a [link](https://example.com/).\n',
  'sales.csv': 'name,amount\nAnn,12\nBob,30\n',
  'config.json': '{"name":"shop","port":8080,"debug":false}\n',
  'config.yaml': 'name: shop\nitems:\n  - a\n  - b\n',
  'settings.env': 'A=1\nNAME="two words"\n',
  'settings.ini': '[server]\nport = 80\n',
  'page.html': '<html><body><h1>Hello</h1><p class="x">World</p></body></html>\n',
  'order.xml': '<order id="7"><item>tea</item><item>milk</item></order>\n',
  'mail.mustache': 'Hello {{name}}!',
  'src/one.ts': 'export const one: number = 1\n',
  'src/index.ts': `import { one } from './one.js'\nconsole.log(one)\n`,
  'pixel.png': Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
}

function makeFolder() {
  rmSync('work', { recursive: true, force: true })
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(path.dirname(path.join('work', name)), { recursive: true })
    writeFileSync(path.join('work', name), content)
  }
  mkdirSync('work/out')
}

const slices = new Map()
function sliceOf({ file, tool: { name } }) {
  const slice = slices.get(name) ?? sliceModule(file, name)
  slices.set(name, slice)
  return slice
}

/** Status, output or code of a call, and what the guard refused meanwhile. */
async function callGuarded(row, policy) {
  const run = guard({ name: row.name, policy: await policy(row), durability: 'process' })
  const options = policy === policies.sandbox ? {} : { effects: row.effects }
  if (mode === 'module')
    run.tool(row.name, { module: sliceOf(row), export: row.tool.name, sandbox: true, ...options })
  else run.tool(row.name, row.tool, options)
  const { status, output, error, facts } = await run.call(row.name, row.args)
  run.end()
  return { status, output, error, code: error?.code, blocked: facts.blocked }
}

async function callPlain({ tool, args }) {
  const context = { signal: new AbortController().signal, use: () => {}, attempt: 1 }
  try {
    return { status: 'done', output: await tool(args, { ...context, idempotencyKey: '1' }) }
  } catch (error) {
    return { status: 'failed', error }
  }
}

let calls = 0
const rows = modules.flatMap(({ file, rows }) =>
  rows(servers.values).map((row) => ({
    file,
    name: row.tool.name,
    args: {},
    effects: [],
    read: [],
    addresses: [],
    programs: [],
    ...row,
  })),
)
const names = process.env.RETAKE_TOOLS?.split(',')
const sample = Number(process.env.RETAKE_TOOLS_SAMPLE ?? 0)
const isChosen = (index, policyIndex) =>
  sample === 0 || index % (sample * 3) === sample * policyIndex
const used = Object.entries(mode === 'plain' ? { plain: undefined } : policies)
for (const [policyIndex, [policyName, policy]] of used.entries()) {
  makeFolder()
  for (const [index, row] of rows.entries()) {
    if (names && !names.includes(row.name)) continue
    if (!isChosen(index, policyIndex)) continue
    current = `${row.name} (${policyName})`
    // Without a sandbox, patterns are refused: nothing would limit what the program does.
    const hasPattern = row.programs.flat().some((word) => word.includes('*'))
    const withoutSandbox = hasPattern ? 'SHELL_NO_SANDBOX' : row.withoutSandbox
    const refused = mode === 'plain' || hasSandbox ? undefined : withoutSandbox
    const startedAt = performance.now()
    const result = policy ? await callGuarded(row, policy) : await callPlain(row)
    const ms = Math.round(performance.now() - startedAt)
    calls++
    const { status, output, error, code, blocked } = result
    const isRight = refused
      ? status === 'denied' && code === refused
      : status === 'done' && isExpected(output, row.expected)
    // Packages look for settings in many folders: a refusal that they cope with is no harm.
    if (isRight) report({ name: current, ms })
    else
      report({
        name: current,
        problem: status,
        ms,
        ...(status === 'done' ? { output } : { error: `${error?.stack ?? error}` }),
        ...(blocked && { blocked }),
      })
  }
}
await servers.close()
report({ calls, tools: new Set(rows.map(({ name }) => name)).size })
process.exit()
