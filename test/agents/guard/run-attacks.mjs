/**
 * Makes every attack of a suite, and its benign twin, in this one process, and prints
 * what became of them as JSON. Usage: `run-attacks.mjs <suite.mjs> <folder>`.
 *
 * An attack tries to leave a mark in the world, a file; its twin leaves one where it may.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as engine from '@retake/engine'
import * as guards from '@retake/guard'

const retake = { ...engine, ...guards }
const [, , suite, folder] = process.argv
const { cases, before, after } = await import(pathToFileURL(suite).href)

/** @param {string} folder What a case has to itself. */
const worldIn = async (folder) => {
  mkdirSync(folder, { recursive: true })
  return { folder, mark: join(folder, 'mark'), retake, ...(await before?.(folder)) }
}

async function make(attempt, world, number) {
  const { policy, tool, args, options, check } = attempt
  delete Object.prototype.path
  const run = retake.guard({
    name: `case-${number}`,
    policy: policy(world),
    dir: join(folder, 'tapes'),
    durability: 'process',
    ...options?.(world),
  })
  run.tool('tool', (given, context) => tool(given, world, context), attempt.toolOptions?.(world))
  const given = await args?.(world)
  const calling = run.call(attempt.call ?? 'tool', given)
  attempt.during?.(given, world)
  const result = await calling
  await after?.(world)
  const isMarked = check === undefined ? existsSync(world.mark) : await check(world, result)
  run.end()
  const { status, error, output, facts } = result
  return {
    status,
    isMarked,
    code: error?.code,
    allowed: error?.allowed,
    message: error instanceof Error ? error.message : undefined,
    blocked: facts.blocked?.map((text) => text.slice(0, text.indexOf(':'))),
    output,
  }
}

const results = []
const failures = []
process.on('unhandledRejection', (error) => failures.push(String(error)))
for (const [number, { name, twin, ...attack }] of cases.entries()) {
  const attempts = { attack, twin: { ...attack, ...twin } }
  const result = { name }
  for (const [which, attempt] of Object.entries(attempts)) {
    const world = await worldIn(join(folder, `${number}-${which}`))
    try {
      result[which] = await make(attempt, world, number)
    } catch (error) {
      result[which] = { thrown: String(error?.stack ?? error) }
    }
  }
  results.push(result)
}
process.stdout.write(`${JSON.stringify({ results, failures })}\n`, () => process.exit(0))
