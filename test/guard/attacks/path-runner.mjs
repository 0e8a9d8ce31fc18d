/**
 * Makes every attack on paths and its twin through a real guard on a real file system, and
 * prints what became of them as JSON. Usage: `path-runner.mjs <folder>`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as engine from '@retake/engine'
import * as guards from '@retake/guard'
import { cases } from './path-attacks.mjs'
import { makeWorld, outsideOf } from './path-world.mjs'

const retake = { ...engine, ...guards }
const [, , folder] = process.argv
const failures = []
process.on('unhandledRejection', (error) => failures.push(String(error?.stack ?? error)))

async function make({ tool, args, policy, before, written }, number, which) {
  const world = { ...makeWorld(join(folder, 'world')), retake }
  process.chdir(world.root)
  world.before = before?.(world)
  const run = retake.guard({
    name: `case-${number}`,
    policy: policy?.(world) ?? retake.presets.sandbox({ root: world.root }),
    dir: join(folder, 'tapes'),
    durability: 'process',
  })
  const outside = outsideOf(world)
  let starts = 0
  run.tool('tool', (given) => {
    starts += 1
    return tool(given, world)
  })
  const result = await run.call('tool', args?.(world) ?? {})
  run.end()
  const { status, error, output, facts } = result
  const [path, text] = written ?? []
  const place = path && world.at(path)
  return {
    which,
    status,
    starts,
    code: error?.code,
    rule: error?.rule,
    allowed: error?.allowed,
    message: error === undefined ? undefined : String(error?.stack ?? error),
    blocked: facts.blocked,
    output,
    root: world.root,
    isUnchanged: outsideOf(world) === outside,
    isTold: JSON.stringify([output, String(error), error, facts]).includes(world.secret),
    ...(path && {
      isWritten:
        text === undefined
          ? !existsSync(place)
          : existsSync(place) && readFileSync(place, 'utf8') === text,
    }),
  }
}

const results = []
for (const [number, { twin, ...attack }] of cases.entries()) {
  const { name, written: _, twinBefore, ...rest } = attack
  results.push({
    name,
    attack: await make(rest, number, 'attack'),
    twin: await make({ ...attack, before: twinBefore ?? attack.before, ...twin }, number, 'twin'),
  })
}
process.stdout.write(`\n${JSON.stringify({ results, failures })}\n`, () => process.exit(0))
