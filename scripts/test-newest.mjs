/**
 * `npm run test:newest`: the contract suite of test/sdks with the newest majors
 * of the SDKs, which need Node 22, and with what only exists there; then the
 * adapters of test/frameworks/newest and the examples that need them.
 * `npm run test:newest -- 24` chooses a Node. Packages are pinned in
 * test/newest, apart from the workspace, which must install on Node 20.
 */
import { cp, mkdir, rm, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { buildOrGiveUp, giveUp } from './build-or-give-up.mjs'
import { findNode } from './find-node.mjs'
import { root, runCommand } from './run-command.mjs'
import { runVitest } from './run-vitest.mjs'

const allMajors = ['22', '24', '26']
const chosen = process.argv.slice(2)
const majors = chosen.length > 0 ? chosen : ['22', '24']
const unknown = majors.filter((major) => !allMajors.includes(major))
if (unknown.length > 0) {
  console.error(`Unknown Node version: ${unknown.join(', ')}. Choose from ${allMajors.join(', ')}.`)
  process.exit(2)
}

const newest = join(root, 'test/newest')

/** Puts a Node first in the path, for children that are started as plain `node`. */
const pathWith = (node) => dirname(node) + delimiter + process.env.PATH

/** Whether what the lock file says is installed, as far as the times of the files tell. */
async function isInstalled() {
  const [locked, installed] = await Promise.all(
    ['package-lock.json', 'node_modules/.package-lock.json'].map((name) =>
      stat(join(newest, name)).catch(() => undefined),
    ),
  )
  return installed !== undefined && locked !== undefined && locked.mtimeMs <= installed.mtimeMs
}

async function installPackages(node) {
  if (await isInstalled()) return
  console.log('Installing the packages of test/newest')
  const { ok, output } = await runCommand('npm', ['ci', '--prefix', newest], {
    env: { PATH: pathWith(node) },
  })
  if (!ok) giveUp(`npm could not install the packages of test/newest:\n${output}`)
}

/** The same agents, in a folder from where imports lead to the newest packages. */
async function copyAgents() {
  const agents = join(newest, '.agents')
  await rm(agents, { recursive: true, force: true })
  await mkdir(agents)
  for (const from of [join(root, 'test/sdks/agents'), join(newest, 'only')])
    await cp(from, agents, { recursive: true })
}

await buildOrGiveUp()

let passed = 0
let failed = 0
for (const major of majors) {
  const node = await findNode(major).catch((error) => giveUp(error.message))
  await installPackages(node)
  await copyAgents()
  const { output } = await runCommand(node, ['-p', 'process.version'])
  console.log(`\nNode ${output.trim()}`)
  const counts = await runVitest({
    node,
    args: [
      '--project=!unit',
      'test/sdks/contract.test.ts',
      'test/frameworks/newest',
      'test/examples.test.ts',
    ],
    env: { PATH: pathWith(node), RETAKE_SDKS: 'newest', RETAKE_SOAK: '1' },
  })
  passed += counts.passed
  failed += counts.failed
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
