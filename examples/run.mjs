/**
 * `node examples/run.mjs <name>`: records the agent in `examples/<name>` against
 * a scripted model, stops the model, replays the recording and compares.
 *
 * What the model says is in `examples/<name>/model.json`. Nothing leaves this
 * machine, and nothing is left behind: the run is kept in a temporary folder.
 * The exit code is 1 when the replay printed something else.
 *
 * An optional `example.json` says what an example needs: `"node": ">=22"`, or
 * `"packages": "newest"` for packages that only test/newest has.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer } from '@retake/engine/testing'

const examples = fileURLToPath(new URL('.', import.meta.url))
const cli = fileURLToPath(new URL('../packages/cli/bin/retake.mjs', import.meta.url))

const [name] = process.argv.slice(2)
const agent = ['agent.ts', 'agent.mjs']
  .map((file) => join(examples, name ?? '', file))
  .find((path) => existsSync(path))
if (name === undefined || agent === undefined) {
  console.error(`usage: node examples/run.mjs <name>\n\n${await overview()}`)
  process.exit(2)
}

const needs = await readFile(join(examples, name, 'example.json'), 'utf8').then(
  JSON.parse,
  () => ({}),
)
const missing = missingFor(needs)
if (missing !== undefined) {
  console.error(`${name} ${missing}`)
  process.exit(2)
}
const answers = JSON.parse(await readFile(join(examples, name, 'model.json'), 'utf8'))
const folder = await realpath(await mkdtemp(join(tmpdir(), `retake-example-${name}-`)))
const copy = join(examples, `../test/newest/example-${name}-${process.pid}`)
const server = await startModelServer({ answers })
try {
  console.error(`recording ${name} …`)
  const recorded = await retake(['record', await placed(agent)], server.env)
  const unused = server.unused.length
  await server.stop()
  print('recorded', recorded)
  if (recorded.code !== 0) fail(`the agent ended with exit code ${recorded.code}`, recorded)
  else if (unused > 0) fail(`${unused} answers of model.json were not asked for`, recorded)
  else {
    console.error(`replaying ${name} …`)
    const replayed = await retake(['replay', 'last'], {})
    print('replayed, with the model gone', replayed)
    if (replayed.code !== 0) fail(`the replay ended with exit code ${replayed.code}`, replayed)
    else if (replayed.stdout !== recorded.stdout)
      fail('the replay printed something else', replayed)
    else console.error(`same output; requests recorded: ${server.requests.length}`)
  }
} finally {
  await server.stop()
  for (const left of [folder, copy]) await rm(left, { recursive: true, force: true, maxRetries: 3 })
}

/** Which examples there are, and where those are explained that are started otherwise. */
async function overview() {
  const folders = (await readdir(examples, { withFileTypes: true })).filter((e) => e.isDirectory())
  const names = folders.map((folder) => folder.name).toSorted()
  const runs = names.filter((each) => existsSync(join(examples, each, 'model.json')))
  const isHere = (each) =>
    ['agent.ts', 'agent.mjs'].some((f) => existsSync(join(examples, each, f)))
  const own = names.filter((each) => !isHere(each)).map((each) => `examples/${each}/README.md`)
  return `names   ${runs.filter(isHere).join('\n        ')}\nothers  ${own.join('\n        ')}`
}

/** Why an example cannot run here, and what to do about it. */
function missingFor({ node = '', packages }) {
  const [, major = 0, minor = 0] = /^>=(\d+)(?:\.(\d+))?/.exec(node) ?? []
  const [here, hereMinor] = process.versions.node.split('.').map(Number)
  if (here < Number(major) || (here === Number(major) && hereMinor < Number(minor)))
    return `needs Node ${node}; this is ${process.versions.node}`
  if (packages === 'newest' && !existsSync(join(examples, '../test/newest/node_modules')))
    return 'needs packages that are not installed: npm ci --prefix test/newest'
}

/** The agent, in a folder from where its imports lead to the packages it needs. */
async function placed(path) {
  if (needs.packages !== 'newest') return path
  await cp(join(examples, name), copy, { recursive: true })
  return join(copy, basename(path))
}

/** Runs the command line in the temporary folder. */
function retake(args, env) {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'])
    child[stream].setEncoding('utf8').on('data', (text) => (said[stream] += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ ...said, code }))
  })
}

function print(title, { stdout }) {
  console.log(`--- ${title}\n${stdout.trimEnd()}`)
}

function fail(what, { stderr }) {
  console.error(`${stderr.trimEnd()}\n${name}: ${what}`)
  process.exitCode = 1
}
