/**
 * Makes every attack on the network scope and its benign twin in this one process, and
 * puts what became of them into `results.json`. Where an attack can reach the secret server from
 * here, it is also made without a guard, to see that it is one.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as engine from '@retake/engine'
import * as guards from '@retake/guard'
import { cases } from './network-attacks.mjs'
import { openWorld } from './network-world.mjs'

const retake = { ...engine, ...guards }
const [, , folder, only] = process.argv
const world = await openWorld(folder)
world.retake = retake
const failures = []
process.on('unhandledRejection', (error) => failures.push(String(error?.stack ?? error)))
process.on('uncaughtException', (error) => failures.push(String(error?.stack ?? error)))

const turns = async () => {
  // What was sent has arrived once the loopback was asked twice over.
  for (let at = 0; at < 20; at += 1) await new Promise((resolve) => setImmediate(resolve))
}

const hidden = Symbol('hidden')

async function make({ policy, args, tool, before, after, isHidden = true }, name) {
  const given = await args?.(world)
  const ready = await before?.(world)
  const run = retake.guard({
    name: 'attacks',
    policy: policy?.(world) ?? { name: 'public', network: { addresses: world.listed } },
    dir: join(folder, 'tapes'),
    durability: 'process',
    limits: { timeoutMs: 10_000 },
  })
  const box = { [hidden]: given }
  run.tool('tool', (shown, context) =>
    tool(isHidden ? box[hidden] : shown, { ...world, ready, context }),
  )
  await turns()
  const hitsBefore = world.hits
  world.connects.length = 0
  const result = await run.call('tool', isHidden ? {} : given)
  await after?.(world, ready)
  await turns()
  const { status, error, output, facts } = result
  run.end()
  await ready?.end?.()
  return {
    name,
    status,
    code: error?.code,
    rule: error?.rule,
    allowed: error?.allowed,
    message: error === undefined ? undefined : String(error?.stack ?? error).slice(0, 600),
    output: typeof output === 'string' ? output : JSON.stringify(output),
    attempts: facts.attempts,
    hits: world.hits - hitsBefore,
    connects: [...world.connects],
    blocked: facts.blocked,
  }
}

/** Whether the attack works when nobody stands in its way. */
async function control({ args, tool, before }) {
  const given = await args?.(world)
  const ready = await before?.(world)
  const hitsBefore = world.hits
  const context = { signal: new AbortController().signal }
  const state = { isOver: false }
  const over = () => (state.isOver = true)
  Promise.resolve()
    .then(() => tool(given, { ...world, ready, context }))
    .then(over, over)
  // Some of those who are reached never answer.
  while (!state.isOver && world.hits === hitsBefore)
    await new Promise((resolve) => setImmediate(resolve))
  await turns()
  await ready?.end?.()
  return world.hits > hitsBefore
}

const results = []
for (const { name, twin, ...attack } of cases) {
  if (only && !name.includes(only)) continue
  const result = { name }
  try {
    result.attack = await make(attack, name)
    if (attack.reaches !== false) result.reaches = await control(attack)
    result.twin = await make({ ...attack, ...twin }, name)
  } catch (error) {
    result.thrown = String(error?.stack ?? error)
  }
  results.push(result)
}
const { allowed, allowedH2, allowedTls, allowedRaw, allowedUdp } = world
const listed = [allowed, allowedH2, allowedTls, allowedRaw, allowedUdp]
writeFileSync(join(folder, 'results.json'), JSON.stringify({ results, failures, listed }))
process.exit(0)
