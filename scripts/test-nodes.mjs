/**
 * `npm run test:nodes`: the engine's tests on every Node we promise to run on.
 * `npm run test:nodes -- 22 26` chooses. Nodes come from the package registry
 * and are kept in `.nodes/`; the current one is used for its own major.
 */
import { delimiter, dirname } from 'node:path'
import { buildOrGiveUp } from './build-or-give-up.mjs'
import { findNode } from './find-node.mjs'
import { runCommand } from './run-command.mjs'
import { runVitest } from './run-vitest.mjs'

const allMajors = ['20', '22', '24', '26']
const chosen = process.argv.slice(2)
const majors = chosen.length > 0 ? chosen : allMajors

/** One row of the table: what happened on this Node. */
async function testOn(major) {
  let node
  try {
    node = await findNode(major)
  } catch (error) {
    console.log(error.message)
    return { node: `v${major}`, passed: 0, failed: 1, skipped: 0, seconds: 0 }
  }
  const { output } = await runCommand(node, ['-p', 'process.version'])
  const version = output.trim()
  console.log(`\nNode ${version}`)
  const counts = await runVitest({
    node,
    args: ['--project=!unit', 'test/engine', 'test/cli/resume.test.ts', 'test/cli/inspect.test.ts'],
    env: {
      // Children started as plain `node` must be this Node too.
      PATH: dirname(node) + delimiter + process.env.PATH,
      RETAKE_SOAK: '1',
    },
  })
  return { node: version, ...counts }
}

const unknown = majors.filter((major) => !allMajors.includes(major))
if (unknown.length > 0) {
  console.error(`Unknown Node version: ${unknown.join(', ')}. Choose from ${allMajors.join(', ')}.`)
  process.exit(2)
}

await buildOrGiveUp()

const rows = []
for (const major of majors) rows.push(await testOn(major))

console.log('\nNode        passed  failed  skipped  seconds')
for (const row of rows) {
  const cells = [row.passed, row.failed, row.skipped, row.seconds.toFixed(0)]
  const widths = [6, 6, 7, 7]
  console.log(
    row.node.padEnd(10),
    cells.map((cell, index) => String(cell).padStart(widths[index] + 1)).join(' '),
  )
}
const sum = (key) => rows.reduce((total, row) => total + row[key], 0)
console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') === 0 ? 0 : 1
