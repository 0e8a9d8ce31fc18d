/**
 * `npm test`: everything that decides whether main is good. Each check counts
 * as one test and vitest's own tests are added; the last line is
 * `N passed, N failed`.
 *
 * Arguments go to vitest: `npm test -- codec` runs the checks and the test
 * files whose path contains "codec".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publishOrder } from './release.mjs'
import { root, runCommand } from './run-command.mjs'
import { runVitest } from './run-vitest.mjs'

const bin = (name) => join(root, 'node_modules/.bin', name)

const checks = [
  { title: 'the packages compile', command: [bin('tsc'), '-b'] },
  { title: 'the viewer builds', command: [process.execPath, 'packages/web/build.mjs'] },
  { title: 'lint, and types of tests and examples', command: [bin('oxlint'), '--deny-warnings'] },
  { title: 'format', command: [bin('oxfmt'), '--check', '.'] },
  { title: 'no unused files, exports or dependencies', command: [bin('knip')] },
  { title: 'no secrets in tracked files', command: [process.execPath, 'scripts/find-secrets.mjs'] },
  ...publishOrder().map((name) => ({
    title: `package ${name} is publishable`,
    command: [bin('publint'), '--strict', join('packages', name)],
  })),
]

/**
 * Minutes for which the processors of this machine were busy since it started, on Linux. Counting
 * only our processes would miss those whose parent ended first.
 */
function busyMinutes() {
  try {
    const [user, nice, system] = readFileSync('/proc/stat', 'utf8').trim().split(/\s+/).slice(1)
    return (Number(user) + Number(nice) + Number(system)) / 100 / 60
  } catch {
    return NaN
  }
}
const busyBefore = busyMinutes()

let passed = 0
let failed = 0
async function runCheck({ title, command }) {
  const [file, ...args] = command
  const { ok, output, seconds } = await runCommand(file, args)
  console.log(`${ok ? '✓' : '✗'} ${title} (${seconds.toFixed(1)} s)`)
  if (ok) passed++
  else {
    failed++
    console.log(output)
  }
}

// The others read what the first one builds.
const [build, ...others] = checks
await runCheck(build)
const waiting = others.values()
const runWaiting = async () => {
  for (const check of waiting) await runCheck(check)
}
await Promise.all([runWaiting(), runWaiting()])

const tests = await runVitest({ args: process.argv.slice(2) })
passed += tests.passed
failed += tests.failed
if (tests.skipped > 0) console.log(`${tests.skipped} skipped: most run in \`npm run soak\` only`)
const busy = (busyMinutes() - busyBefore).toFixed(1)
console.log(
  `${(performance.now() / 60_000).toFixed(1)} minutes; processors were busy for ${busy} minutes`,
)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
