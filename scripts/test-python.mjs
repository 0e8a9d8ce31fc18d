/**
 * `npm run test:python`: real Python SDKs and frameworks, recorded and replayed
 * through the proxy. `npm run test:python -- crewai openai` chooses. Virtual
 * environments are made in `.python/` and kept while their pins are unchanged.
 * The last line is `N passed, N failed`.
 */
import { cases } from '../test/python/cases.mjs'
import { runCase } from '../test/python/run-case.mjs'
import { buildOrGiveUp } from './build-or-give-up.mjs'
import { pythonEnvironment } from './python-environment.mjs'

const names = process.argv.slice(2)
const unknown = names.filter((name) => !cases.some((each) => each.name === name))
if (unknown.length > 0) {
  const known = cases.map(({ name }) => name).join(', ')
  console.error(`Unknown: ${unknown.join(', ')}. Choose from ${known}.`)
  process.exit(2)
}

await buildOrGiveUp()

let passed = 0
let failed = 0

/** Runs one test and says how it went. */
async function test(title, check) {
  const started = performance.now()
  const error = await check().then(
    () => undefined,
    (reason) => reason,
  )
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${error ? '✗' : '✓'} ${title} (${seconds} s)`)
  if (error) {
    failed++
    console.log(error.message ?? error)
  } else passed++
}

const environments = new Map()
for (const given of cases) {
  if (names.length > 0 && !names.includes(given.name)) continue
  const { environment } = given
  try {
    if (!environments.has(environment))
      environments.set(environment, pythonEnvironment(environment, console.log))
    const python = await environments.get(environment)
    await runCase(given, python, (title, check) => test(`${given.name} ${title}`, check))
  } catch (error) {
    failed++
    console.log(`✗ ${given.name}: ${error.message}`)
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
