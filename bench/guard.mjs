import { execFile } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CallHistory, CompiledPolicy, guard, presets } from '@retake/guard'
import { noop, readTime } from './measure/sandboxed-tool.mjs'
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
    ...(await compareWithSandbox(folder, quick ? 3 : 20)),
  ])
}

const bare = async ({ a }) => a
const policy = [presets.strict({ allow: ['noop'] }), presets.readOnly()]

async function compareWithBare(folder, rounds) {
  const run = guard({ name: 'bench', dir: join(folder, 'process'), durability: 'process', policy })
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
      name: "guarded no-op call with durability 'process', µs more than the bare function",
      ratio: meanUs - bareUs,
      gate: { max: 25 },
      method: `mean of ${method}, writing the tape included; ${meanUs.toFixed(1)} µs against ${bareUs.toFixed(2)} µs, ${(meanUs / bareUs).toFixed(0)} times`,
    },
    {
      name: '– until its answer is there, p50',
      ratio: guardedUs - bareUs,
      method: 'p50 of the same rounds',
    },
  ]
}

/** A guarded call syncs twice: before the tool starts, and before its result is shown. */
async function compareWithBarriers(folder, rounds) {
  const run = guard({ name: 'bench', dir: join(folder, 'machine'), policy })
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
  const history = new CallHistory(compiled)
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

const toolModule = fileURLToPath(new URL('measure/sandboxed-tool.mjs', import.meta.url))
const firstCall = fileURLToPath(new URL('measure/first-sandboxed-call.mjs', import.meta.url))
const runProgram = promisify(execFile)

/** A tool as a function and as a module in the sandbox; a program with and without the guard. */
async function compareWithSandbox(folder, rounds) {
  const work = join(folder, 'work')
  mkdirSync(work)
  const path = join(work, 'file')
  writeFileSync(path, 'x'.repeat(1000))
  const policy = presets.sandbox({ root: work, programs: [['true']] })
  const open = () =>
    guard({ name: 'sandbox', dir: join(folder, 'sandbox'), durability: 'process', policy })
  const times = { first: [], warm: [], inside: [], read: [], program: [], plain: [], plainRead: [] }
  const timed = async (into, work, count = 1) => {
    const started = now()
    for (let at = 0; at < count; at++) await work()
    into.push((now() - started) / count)
  }
  /** The output of a call that must work: a refused one would be fast. */
  const call = async (run, tool, args) => {
    const { status, output, error } = await run.call(tool, args)
    if (status !== 'done') throw error
    return output
  }
  try {
    for (let round = 0; round < rounds; round++) {
      const run = open()
      run.tool('noop', noop)
      run.tool('sandboxed', { module: toolModule, export: 'noop', sandbox: true })
      run.tool('read', { module: toolModule, export: 'readTime', sandbox: true })
      run.tool('program', () => runProgram('true').then(() => 1))
      await call(run, 'sandboxed', { a: 1 })
      await timed(times.warm, () => call(run, 'sandboxed', { a: 1 }), 200)
      await timed(times.inside, () => call(run, 'noop', { a: 1 }), 200)
      times.read.push(await call(run, 'read', { path }))
      times.plainRead.push(readTime({ path }))
      await call(run, 'program', {})
      await timed(times.program, () => call(run, 'program', {}), 10)
      await timed(times.plain, () => runProgram('true'), 10)
      run.end()
    }
  } catch (error) {
    return [{ name: 'sandboxed tools', gate: { max: 0 }, method: String(error) }]
  }
  const startMs = []
  for (let round = 0; round < rounds; round++) {
    const { stdout } = await runProgram(process.execPath, [firstCall, folder])
    times.first.push(Number(stdout))
    await timed(startMs, () => runProgram(process.execPath, ['-e', '0']))
  }
  const ms = (name) => median(times[name])
  return [
    {
      name: 'first call of a sandboxed tool, ms more than starting Node',
      ratio: ms('first') - median(startMs),
      gate: { max: 80 },
      method: `p50 of ${rounds}; ${ms('first').toFixed(0)} ms against ${median(startMs).toFixed(0)} ms`,
    },
    {
      name: 'warm call of a sandboxed tool, ms more than in this process',
      ratio: ms('warm') - ms('inside'),
      gate: { max: 0.2 },
      method: `p50 of ${rounds} rounds of 200; ${ms('warm').toFixed(3)} ms against ${ms('inside').toFixed(3)} ms`,
    },
    {
      name: 'readFileSync in a sandboxed tool / plain',
      ratio: ms('read') / ms('plainRead'),
      gate: { max: 1.1 },
      method: `p50 of ${rounds} rounds of 2,000; ${ms('read').toFixed(1)} µs against ${ms('plainRead').toFixed(1)} µs`,
    },
    {
      name: 'program of a guarded tool, ms more than without a guard',
      ratio: ms('program') - ms('plain'),
      gate: { max: 10 },
      method: `p50 of ${rounds} rounds of 10; ${ms('program').toFixed(1)} ms against ${ms('plain').toFixed(1)} ms`,
    },
  ]
}
