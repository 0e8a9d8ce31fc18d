/**
 * `npm run soak`: the full matrices, repetitions and long simulations, of which
 * `npm test` runs a sample. Takes hours.
 *
 * `npm run soak -- crashes blame` runs these parts only; any other name selects files whose
 * path contains it, as in `npm run soak -- older-runners`. Whatever follows the first dash goes
 * to vitest: `npm run soak -- forks -t http2`.
 */
import { runVitest } from './run-vitest.mjs'

/** Test files by part, as file filters of vitest. */
const parts = {
  simulation: ['test/simulation'],
  fuzz: ['test/fuzz'],
  replays: ['test/engine/sdk-replay', 'test/engine/stress', 'test/engine/concurrent-runs'],
  sdks: ['test/sdks', 'test/frameworks'],
  everyday: ['test/everyday', 'test/native', 'test/examples'],
  forks: ['test/engine/fork-matrix', 'test/engine/offline-tail', 'test/cli/fork', 'test/cli/rerun'],
  crashes: ['test/crash'],
  blame: ['test/blame', 'test/cli/blame', 'test/cli/chaos'],
  fix: ['test/fix', 'test/cli/fix'],
  matchers: [
    'test/cli/vitest-matcher',
    'test/cli/jest-matcher',
    'test/cli/older-runners',
    'test/cli/changed-files',
  ],
  edits: ['test/cli/edit-matrix', 'test/cli/changed-sources', 'test/cli/capsule'],
  proxies: ['test/cli/proxy', 'test/cli/command-isolation', 'test/engine/proxy'],
  viewer: ['test/web'],
  'guard-tools': ['test/guard/ordinary-tools'],
  guard: ['test/guard'],
  server: ['test/server'],
  engine: ['test/engine', 'test/golden', 'test/support'],
  cli: ['test/cli'],
}

const args = process.argv.slice(2)
const firstFlag = args.findIndex((arg) => arg.startsWith('-'))
const chosen = firstFlag === -1 ? args : args.slice(0, firstFlag)
const flags = args.slice(chosen.length)
/** A name that is not a part selects test files by path. */
for (const name of chosen) parts[name] ??= [name]

/** Filters of the parts that come before: no file runs twice. */
const done = []
const rows = []
for (const [name, filters] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const excluded = done.flatMap((path) => ['--exclude', `${path}*`, '--exclude', `${path}*/**`])
  const counts = await runVitest({
    args: ['--project=!unit', ...filters, ...excluded, ...flags],
    env: { RETAKE_SOAK: '1' },
  })
  done.push(...filters)
  rows.push({ name, ...counts })
}

// As bench/notes/benchmarks.md shows it.
console.log('\n| part | passed | failed | minutes |\n|---|---|---|---|')
for (const { name, passed, failed, seconds } of rows)
  console.log(`| ${name} | ${passed} | ${failed} | ${(seconds / 60).toFixed(1)} |`)
const sum = (key) => rows.reduce((total, row) => total + row[key], 0)
console.log(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`)
process.exitCode = sum('failed') === 0 ? 0 : 1
