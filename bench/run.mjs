/**
 * `npm run bench`: ratios against floors and peers measured in the same run.
 *
 * A missed gate is measured again, up to three times in all, and the best
 * result counts: other work on the machine can only make a ratio worse. The
 * table says so. Gates that do not depend on time are measured once.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { groups } from './groups.mjs'
import { better, isFine, verdictOf } from './measure/row.mjs'
import { formatMarkdown, formatTable } from './measure/table.mjs'

// Node 20 reads these certificates whenever it starts: 50 ms that would count for each process of
// Retake. Everything here talks to the loopback.
delete process.env['NODE_EXTRA_CA_CERTS']

const ATTEMPTS_MAX = 3
const USAGE = `npm run bench                 everything, about half an hour
npm run bench -- fetch size   groups whose name contains one of these words
npm run bench -- --check      exit code 1 if a gate is missed or could not be measured
npm run bench -- --json       machine-readable
npm run bench -- --markdown   the table of bench/notes/benchmarks.md
npm run bench -- --quick      few rounds: shows that everything runs, decides nothing

Groups: ${groups.map(({ name }) => name).join(', ')}`

const { values: options, positionals: filters } = readArguments()
if (options.help) {
  console.log(USAGE)
  process.exit(0)
}

function readArguments() {
  const flag = { type: 'boolean', default: false }
  const names = ['check', 'help', 'json', 'markdown', 'quick']
  try {
    return parseArgs({
      allowPositionals: true,
      options: Object.fromEntries(names.map((name) => [name, flag])),
    })
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`)
    process.exit(2)
  }
}

/** A group that fails is a line of the table too. @returns {Promise<import('./measure/row.mjs').Row[]>} */
function measureOnce(group) {
  const child = fork(
    join(import.meta.dirname, 'measure/run-group.mjs'),
    [group.file, ...(options.quick ? ['--quick'] : [])],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] },
  )
  return new Promise((resolve) => {
    let rows
    child.on('message', (message) => (rows = message))
    child.on('exit', (code, signal) => {
      const method = `bench/${group.file} ended with ${signal ?? code} and no result`
      resolve(rows ?? [{ name: group.name, gate: { max: 0 }, method }])
    })
  })
}

/** @returns {Promise<import('./measure/row.mjs').Row[]>} */
async function measureGroup(group) {
  let rows = await measureOnce(group)
  const attemptsMax = group.timed && !options.quick ? ATTEMPTS_MAX : 1
  for (let attempt = 2; attempt <= attemptsMax && !rows.every(isFine); attempt++) {
    const again = await measureOnce(group)
    if (again.length !== rows.length) {
      rows = again
      continue
    }
    rows = rows.map((row, index) =>
      isFine(row) ? row : { ...better(row, again[index]), attempts: attempt },
    )
  }
  return rows
}

const chosen = groups.filter(
  ({ name }) => filters.length === 0 || filters.some((word) => name.includes(word)),
)
if (chosen.length === 0) {
  console.error(`No group is called ${filters.join(' or ')}.\n\n${USAGE}`)
  process.exit(2)
}

const rows = []
for (const group of chosen) {
  console.error(`measuring ${group.name} …`)
  const started = performance.now()
  rows.push(...(await measureGroup(group)).map((row) => ({ group: group.name, ...row })))
  console.error(`measured ${group.name} in ${((performance.now() - started) / 1000).toFixed(0)} s`)
}

const failed = rows.filter((row) => !isFine(row))
if (options.json) {
  const results = rows.map((row) => ({ ...row, verdict: verdictOf(row) }))
  const { node } = process.versions
  console.log(JSON.stringify({ node, quick: options.quick, rows: results }, undefined, 2))
} else if (options.markdown) console.log(formatMarkdown(rows))
else {
  console.log(formatTable(rows))
  console.log(
    failed.length === 0
      ? 'Every gate is met.'
      : `Missed or not measured: ${failed.map(({ name }) => name).join('; ')}`,
  )
}
if (options.check && failed.length > 0) process.exitCode = 1
