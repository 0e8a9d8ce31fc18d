import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { CallHistory, CompiledPolicy, guard, presets } from '@retake/guard'
import { median } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const now = performance.now.bind(performance)

/**
 * What a guarded call costs that does nothing, against the bare function and
 * against the least that could make it durable; and what judging costs.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export function measure({ quick }) {
  return withTemporaryFolder(async (folder) => [
    ...(await compareWithBare(folder, quick ? 20 : 200)),
    await compareWithBarriers(folder, quick ? 50 : 600),
    judgeHundredRules(quick ? 20 : 200),
  ])
}

const bare = async ({ a }) => a
const policy = [presets.strict({ allow: ['noop'] }), presets.readOnly()]

async function compareWithBare(folder, rounds) {
  const run = guard({ name: 'bench', dir: join(folder, 'memory'), durability: 'memory', policy })
  run.tool('noop', ({ a }) => a, { effects: ['read'] })
  const calls = 100
  const times = { guarded: [], bare: [] }
  for (let round = -20; round < rounds; round++) {
    const into = round < 0 ? { guarded: [], bare: [] } : times
    let started = now()
    for (let a = 0; a < calls; a++) await run.call('noop', { a })
    into.guarded.push(((now() - started) * 1000) / calls)
    started = now()
    for (let a = 0; a < calls; a++) await bare({ a })
    into.bare.push(((now() - started) * 1000) / calls)
  }
  run.end()
  const [guardedUs, bareUs] = [median(times.guarded), median(times.bare)]
  const meanUs = times.guarded.reduce((sum, us) => sum + us, 0) / rounds
  const method = `${rounds} rounds of ${calls} calls in turns`
  return [
    {
      name: 'guarded no-op call without durability, µs more than the bare function',
      ratio: meanUs - bareUs,
      gate: { max: 25 },
      method: `mean of ${method}, writing the tape in the background included; ${meanUs.toFixed(1)} µs against ${bareUs.toFixed(2)} µs, ${(meanUs / bareUs).toFixed(0)} times`,
    },
    {
      name: '– until its answer is there, p50',
      ratio: guardedUs - bareUs,
      method: `p50 of the same rounds, most of which have no writing in them`,
    },
  ]
}

/** A guarded call syncs twice: before the tool starts, and before its result is shown. */
async function compareWithBarriers(folder, rounds) {
  const run = guard({ name: 'bench', dir: join(folder, 'disk'), policy })
  run.tool('noop', ({ a }) => a, { effects: ['read'] })
  const floor = openSync(join(folder, 'floor'), 'w')
  const bytes = Buffer.alloc(600, 'x')
  const times = { guarded: [], floor: [] }
  for (let round = -20; round < rounds; round++) {
    const into = round < 0 ? { guarded: [], floor: [] } : times
    let started = now()
    await run.call('noop', { a: round })
    into.guarded.push(now() - started)
    started = now()
    for (let barrier = 0; barrier < 2; barrier++) {
      writeSync(floor, bytes)
      fdatasyncSync(floor)
    }
    into.floor.push(now() - started)
  }
  closeSync(floor)
  run.end()
  const [guardedMs, floorMs] = [median(times.guarded), median(times.floor)]
  return {
    name: 'guarded no-op call / two write+fdatasync of as many bytes',
    ratio: guardedMs / floorMs,
    gate: { max: 1.6 },
    method: `p50 of ${rounds} in turns; ${guardedMs.toFixed(2)} ms against ${floorMs.toFixed(2)} ms`,
  }
}

/** None of the rules matches but the last: each has to be looked at. */
function judgeHundredRules(rounds) {
  const rules = Array.from({ length: 99 }, (_, index) => ({
    deny: index % 3 === 0 ? '*' : ['refund', `tool-${index}-*`],
    when: { amount: { over: 1000 + index }, 'customer.tier': { in: [`tier-${index}`] } },
  }))
  const compiled = new CompiledPolicy([
    { name: 'hundred', default: 'deny', rules: [...rules, { allow: 'refund' }] },
  ])
  const history = new CallHistory()
  const calls = 1000
  const times = []
  const call = {
    tool: 'refund',
    args: { amount: 12, customer: { tier: 'gold', id: 'c-17' }, reason: 'it does not work' },
    effects: ['spend'],
  }
  for (let round = -20; round < rounds; round++) {
    const started = now()
    for (let count = 0; count < calls; count++) compiled.judge(call, history)
    if (round >= 0) times.push(((now() - started) * 1000) / calls)
  }
  return {
    name: 'a policy of 100 rules judges a call that only the last one matches, µs',
    ratio: median(times),
    gate: { max: 20 },
    method: `p50 of ${rounds} rounds of ${calls}`,
  }
}
