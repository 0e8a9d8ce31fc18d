import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import type { ModelRequest, ScriptedAnswer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { RunOutcome } from '../../packages/runner/dist/config/oracle-source.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import type { OracleOptions } from '../../packages/runner/dist/oracle/make-oracle.js'
import type { Judgement } from '../../packages/runner/dist/oracle/oracle.js'
import { Agreement, readOutcome } from '../../packages/runner/dist/oracle/oracle.js'
import { linkModules } from '../support/run-library.mjs'
import { run } from '../support/run-retake.mjs'
import { folderWith, tapesOf } from './workspace.js'

const never = new AbortController().signal

const ended: RunOutcome = { stdout: '', ended: true, exitCode: 0 }
const said = (stdout: string, more: Partial<RunOutcome> = {}): RunOutcome => ({
  ...ended,
  stdout,
  ...more,
})

async function judge(
  oracle: string,
  outcome: RunOutcome,
  options: Partial<OracleOptions> = {},
): Promise<Judgement> {
  const ask = await makeOracle(oracle, { ...options })
  return ask(outcome, never)
}

const killed: RunOutcome = { stdout: 'refunded', ended: false, signal: 'SIGKILL' }
const json = said('thinking\n{"order":{"status":"refunded","items":[1,{"n":0}]},"a.b":""}\n')

test.each<[oracle: string, outcome: RunOutcome, verdict: Judgement['verdict'], reason: string]>([
  ['exit:0', ended, 'pass', 'exit code 0'],
  ['exit:0', said('', { exitCode: 3 }), 'fail', 'exit code 3'],
  ['exit:0', killed, 'fail', 'killed by SIGKILL'],
  ['not:exit:3', said('', { exitCode: 3 }), 'fail', 'exit code 3'],
  ['not:exit:3', ended, 'pass', 'exit code 0'],
  ['stdout:/order \\d+ REFUNDED/i', said('order 12 refunded'), 'pass', 'stdout matches'],
  ['stdout:/order \\d+ REFUNDED/', said('order 12 refunded'), 'fail', 'stdout does not match'],
  ['stdout:/refunded$/', said('was refunded\n'), 'pass', 'stdout matches /refunded$/'],
  ['stdout:/refunded$/', said('was refunded\r\n'), 'pass', 'stdout matches'],
  ['stdout:/refunded$/', said('refunded\n\n'), 'fail', 'stdout does not match'],
  ['stdout:/^first$/', said('first\nsecond\n'), 'fail', 'stdout does not match'],
  ['stdout:/^first$/m', said('first\nsecond\n'), 'pass', 'stdout matches'],
  ['not:stdout:/refunded$/', said('was refunded\n'), 'fail', 'stdout matches'],
  ['stdout:/refunded/', killed, 'undefined', 'killed by SIGKILL'],
  ['stdout:a/b', said('x a/b y'), 'pass', 'stdout contains "a/b"'],
  ['stdout:refunded', said('refused'), 'fail', 'stdout does not contain'],
  ['not:stdout:/APPROVED/', said('DENIED'), 'pass', 'does not match'],
  ['not:stdout:/APPROVED/', said('APPROVED'), 'fail', 'matches'],
  ['not:stdout:/APPROVED/', killed, 'undefined', 'killed'],
  ['not:not:stdout:x', said('x'), 'pass', 'contains'],
  ['json:order.status="refunded"', json, 'pass', 'order.status is "refunded"'],
  ['json:order.status="open"', json, 'fail', 'order.status is "refunded"'],
  ['json:order.items={"n":0}', json, 'fail', 'order.items is [1,{"n":0}]'],
  ['json:.order.items[-1]={"n":0}', json, 'pass', 'is {"n":0}'],
  ['json:order.items.0', json, 'pass', 'is 1'],
  ['json:order.items.1.n', json, 'fail', 'is 0'],
  ['json:["a.b"]', json, 'fail', 'is ""'],
  ['json:order.total=5', json, 'undefined', 'has no order.total'],
  ['not:json:order.total=5', json, 'undefined', 'has no order.total'],
  ['json:ok=true', said('all is well'), 'undefined', 'stdout is not JSON'],
  ['json:a=2', said('{\n "a": 2\n}\n'), 'pass', 'a is 2'],
  ['json:a', said('{"a":1}', { result: { a: 0 } }), 'fail', 'a is 0'],
  ['grep -q refunded', said('was refunded'), 'pass', 'exit code 0'],
  ['grep -q refunded', said('was refused'), 'fail', 'exit code 1'],
  ['cmd:exit 125', ended, 'undefined', 'exit code 125'],
  [
    'cmd:test "$RETAKE_EXIT_CODE$RETAKE_TAPE" = 7/t',
    said('', { exitCode: 7, tape: '/t' }),
    'pass',
    '',
  ],
])('%s on %j: %s', async (oracle, outcome, verdict, reason) => {
  const judgement = await judge(oracle, outcome)
  expect(judgement).toEqual({ verdict, reason: expect.stringContaining(reason) as string })
})

test.each([
  ['', 'The oracle is empty.'],
  ['cmd: ', 'The oracle is empty.'],
  ['not:', 'The oracle is empty.'],
  ['exit:x', 'is not an exit code'],
  ['stdout:', 'names no text'],
  ['stdout:/(/', 'is not a regular expression'],
  ['json:=3', 'does not start with a path'],
  ['json:a=b', '"b" is not JSON'],
  ['json:a b', 'does not compare with ='],
  ['judge:', 'has no criterion'],
  ['judge:Is it kind?', 'No judge model is configured'],
  ['./gone.ts', 'There is no file ./gone.ts'],
])('"%s" is refused before anything is run: %s', async (oracle, what) => {
  await expect(makeOracle(oracle)).rejects.toMatchObject({
    code: 'WRONG_USAGE',
    what: expect.stringContaining(what) as string,
  })
})

test('a command that cannot be run is an error, not a verdict', async () => {
  await expect(judge('no-such-command-here', ended)).rejects.toMatchObject({
    code: 'WRONG_USAGE',
    why: expect.stringContaining('not found') as string,
  })
})

test('a command gets the exact bytes of the output', async () => {
  const bytes = Uint8Array.of(0xff, 0x00, 0xfe)
  const check = 'test "$(od -An -tx1 | tr -d \' \\n\')" = ff00fe'
  expect(await judge(check, { ...ended, stdoutBytes: bytes })).toMatchObject({ verdict: 'pass' })
})

test('a command that hangs and ignores SIGTERM is killed', async () => {
  const { folder } = await folderWith({})
  const pid = join(folder, 'pid')
  const check = `echo $$ > '${pid}'; trap '' TERM; while true; do sleep 0.1; done`
  expect(await judge(check, ended, { timeoutMs: 1500 })).toEqual({
    verdict: 'undefined',
    reason: 'the oracle was stopped after 1.5 s',
  })
  const shell = Number(await readFile(pid, 'utf8'))
  await vi.waitFor(() => expect(() => process.kill(shell, 0)).toThrow('ESRCH'), 20_000)
})

// ── functions ────────────────────────────────────────────────────────────────

const oracleFile = `
import type { RunOutcome } from 'retake'
enum Word { yes = 'approve' }
const cases: Record<string, (outcome: RunOutcome) => unknown> = {
  approve: () => true,
  refuse: async () => false,
  verdict: () => 'fail',
  unsure: () => ({ verdict: 'undefined', reason: 'no order is named' }),
  reason: ({ exitCode }) => ({ verdict: 'pass', reason: 'exit code ' + exitCode }),
  nonsense: () => ({ fine: true }),
  nothing: () => {},
  throws: () => { throw new RangeError('out of paper') },
  rejects: () => Promise.reject(new Error('no network')),
  loops: () => { for (;;); },
  waits: () => new Promise(() => {}),
  leaves: () => process.exit(7),
  prints: () => { console.log('noise'); return true },
}
export default (outcome: RunOutcome) => cases[outcome.stdout]?.(outcome)
`

test('a function in a TypeScript file always yields a verdict, whatever it does', async () => {
  const { folder } = await folderWith({ 'check.ts': oracleFile })
  const patient = await makeOracle('check.ts', { folder })
  const hasty = await makeOracle('check.ts', { folder, timeoutMs: 1500 })
  const ask = (stdout: string) =>
    (/loops|waits/.test(stdout) ? hasty : patient)(said(stdout), never)
  const expected: Record<string, [verdict: string, reason: string]> = {
    approve: ['pass', 'the oracle said true'],
    refuse: ['fail', 'the oracle said false'],
    verdict: ['fail', 'the oracle said fail'],
    unsure: ['undefined', 'no order is named'],
    reason: ['pass', 'exit code 0'],
    nonsense: ['undefined', 'the oracle answered {"fine":true}'],
    nothing: ['undefined', 'the oracle answered undefined'],
    throws: ['undefined', 'the oracle threw: RangeError: out of paper'],
    rejects: ['undefined', 'the oracle threw: Error: no network'],
    loops: ['undefined', 'stopped after 1.5 s'],
    waits: ['undefined', 'stopped after 1.5 s'],
    leaves: ['undefined', 'it ended its thread'],
    prints: ['pass', 'the oracle said true'],
  }
  const asked = Object.keys(expected).map(ask)
  // Waits for a thread that a hanging call holds.
  const behind = hasty(said('approve'), never)
  const judgements = await Promise.all(asked)
  for (const [index, [name, [verdict, reason]]] of Object.entries(expected).entries())
    expect([name, judgements[index]]).toEqual([
      name,
      { verdict, reason: expect.stringContaining(reason) as string },
    ])
  expect(await behind).toMatchObject({ verdict: 'pass' })
  const negated = await makeOracle('not:check.ts', { folder })
  expect(await negated(said('approve'), never)).toMatchObject({ verdict: 'fail' })
})

test('a program that calls a function oracle exits on its own, with only its own output on stdout', async () => {
  const { folder } = await folderWith({
    'check.ts': oracleFile,
    'program.mjs': `import { makeOracle } from ${JSON.stringify(new URL('../../packages/runner/dist/oracle/make-oracle.js', import.meta.url).href)}
const oracle = await makeOracle('check.ts')
const { verdict } = await oracle({ stdout: 'prints', ended: true }, new AbortController().signal)
console.log(verdict)`,
  })
  const ran = await run(process.execPath, ['program.mjs'], folder)
  expect(ran).toMatchObject({ code: 0, stdout: 'pass\n', stderr: 'noise\n' })
})

test('a file without an oracle is refused, and a changed file has another key', async () => {
  const { folder } = await folderWith({
    'broken.mjs': 'throw new Error("not today")',
    'none.mjs': 'export const oracle = () => true',
    'good.cjs': 'module.exports = () => true',
  })
  for (const [file, why] of [
    ['broken.mjs', 'not today'],
    ['none.mjs', 'not a function'],
  ] as const)
    await expect(makeOracle(file, { folder })).rejects.toMatchObject({
      code: 'WRONG_USAGE',
      why: expect.stringContaining(why) as string,
    })
  const { key } = await makeOracle('good.cjs', { folder })
  await writeFile(join(folder, 'good.cjs'), 'module.exports = () => false')
  expect((await makeOracle('good.cjs', { folder })).key).not.toBe(key)
})

// ── a judge ──────────────────────────────────────────────────────────────────

type Answering = (request: ModelRequest) => ScriptedAnswer

async function startJudge(answer: Answering) {
  const server = await startModelServer({ answer })
  onTestFinished(() => server.stop())
  const options = { judge: { url: `${server.url}/v1`, model: 'strict-judge' } }
  return { server, options }
}

/** Reads which letter stands for what, and says what it thinks. */
const honest =
  (thinks: (prompt: string) => boolean): Answering =>
  ({ messages }) => {
    const prompt = messages.at(-1)?.text ?? ''
    const meets = /^([AB]): The output meets/m.exec(prompt)?.[1] ?? '?'
    const letter = thinks(prompt) ? meets : meets === 'A' ? 'B' : 'A'
    return { text: letter }
  }

test('a judge is called twice with swapped options, and gets task, output and criterion', async () => {
  const workspace = await folderWith({
    'agent.mjs': `
const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Refund order 1182' }] }),
})
console.log((await response.json()).choices[0].message.content)`,
  })
  const agentModel = await startModelServer({ answers: [{ text: 'I am sorry, no.' }] })
  await workspace.retake(['record', 'agent.mjs'], { env: agentModel.env })
  await agentModel.stop()
  const [file = ''] = await tapesOf(workspace)
  const recorded = openTape(file)

  const { server, options } = await startJudge(honest((prompt) => prompt.includes('sorry')))
  const oracle = await makeOracle('judge:It is polite.', { recorded, ...options })
  const agreement = new Agreement()
  const polite = await oracle(said('I am sorry, no.'), never)
  expect(polite).toEqual({
    verdict: 'pass',
    reason: 'the judge says pass, in both orders',
    votes: ['pass', 'pass'],
  })
  agreement.add(polite)
  const prompts = server.requests.map(({ messages }) => messages.at(-1)?.text ?? '')
  expect(prompts).toHaveLength(2)
  for (const part of ['Refund order 1182', 'I am sorry, no.', 'It is polite.'])
    for (const prompt of prompts) expect(prompt).toContain(part)
  expect(new Set(prompts.map((prompt) => /^A: (.*)$/m.exec(prompt)?.[1])).size).toBe(2)

  const rude = await oracle(said('No.'), never)
  expect(rude).toMatchObject({ verdict: 'fail', votes: ['fail', 'fail'] })
  agreement.add(rude)
  const turned = await makeOracle('not:judge:It is polite.', { ...options })
  expect(await turned(said('No.'), never)).toMatchObject({
    verdict: 'pass',
    votes: ['pass', 'pass'],
  })
  expect(agreement.text).toBe('the judge agreed with itself 2 of 2 times')
})

test('a judge that prefers a position is undefined, and its agreement shows it', async () => {
  const { options } = await startJudge(() => ({ text: 'A' }))
  const judgement = await judge('judge:It is polite.', said('No.'), options)
  expect(judgement).toEqual({
    verdict: 'undefined',
    reason: 'the judge says the opposite when its options are swapped',
    votes: ['pass', 'fail'],
  })
  const agreement = new Agreement()
  agreement.add(judgement)
  agreement.add({ verdict: 'pass', reason: '', votes: ['pass', 'pass'] })
  agreement.add({ verdict: 'undefined', reason: '', votes: ['pass', 'undefined'] })
  expect([agreement.rate, agreement.text]).toEqual([
    0.5,
    'the judge agreed with itself 1 of 2 times',
  ])
})

test.each(['Both have merits.', 'A refund was promised', '', 'AB'])(
  'a judge that answers "%s" is undefined',
  async (text) => {
    const { options } = await startJudge(() => ({ text }))
    const judgement = await judge('judge:It is polite.', said('No.'), options)
    expect(judgement).toMatchObject({ verdict: 'undefined', votes: ['undefined', 'undefined'] })
    expect(judgement.reason).toContain('neither A nor B')
  },
)

test.each(['a', '**A**', 'Answer: A.', '{"answer": "A"}', '<think>B? No.</think>\nA'])(
  'the letter in "%s" is understood',
  async (text) => {
    const { options } = await startJudge(honestly(text))
    const judgement = await judge('judge:It is polite.', said('x'), options)
    expect(judgement).toMatchObject({ verdict: 'pass' })
  },
)

/** Says the letter for "meets" in the way of `like`, which says A. */
const honestly =
  (like: string): Answering =>
  ({ messages }) => {
    const isA = /^A: The output meets/m.test(messages.at(-1)?.text ?? '')
    return { text: isA ? like : like.replace(/A(?!nswer)|\ba\b/, 'B') }
  }

test('a busy judge is retried after the time it names; one that stays busy is undefined', async () => {
  const refusals = [429, 503]
  const think = honest(() => true)
  const { server, options } = await startJudge((request) => {
    const status = refusals.shift()
    return status === undefined
      ? think(request)
      : { error: { status, message: 'busy', retryAfter: 0 } }
  })
  expect(await judge('judge:It is polite.', said('x'), options)).toMatchObject({ verdict: 'pass' })
  expect(server.requests).toHaveLength(4)

  const busy = await startJudge(() => ({ error: { status: 429, message: 'busy', retryAfter: 0 } }))
  const never429 = await judge('judge:It is polite.', said('x'), busy.options)
  expect(never429).toMatchObject({ verdict: 'undefined', reason: 'the judge answered 429' })
  expect(busy.server.requests.length).toBeLessThanOrEqual(12)

  const slow = await startJudge(() => ({
    error: { status: 429, message: 'busy', retryAfter: 3600 },
  }))
  const late = await judge('judge:It is polite.', said('x'), { ...slow.options, timeoutMs: 1200 })
  expect(late).toMatchObject({ verdict: 'undefined', reason: 'the oracle was stopped after 1.2 s' })
  expect(slow.server.requests).toHaveLength(2)
})

test('an unreachable judge is undefined; one that refuses is an error that does not reveal the key', async () => {
  const { server, options } = await startJudge(() => ({ text: 'A' }))
  await server.stop()
  const gone = await judge('judge:It is polite.', said('x'), { ...options, timeoutMs: 700 })
  expect(gone).toMatchObject({ verdict: 'undefined' })

  const key = ['made', 'up', 'key', String(Date.now())].join('-')
  process.env['ORACLE_TEST_KEY'] = key
  onTestFinished(() => void delete process.env['ORACLE_TEST_KEY'])
  const refusing = await startJudge(() => ({
    error: { status: 401, message: `Incorrect API key provided: ${key}` },
  }))
  const judged = { ...refusing.options.judge, apiKeyEnv: 'ORACLE_TEST_KEY' }
  const refused = await judge('judge:It is polite.', said('x'), { judge: judged }).catch(
    (error: unknown) => error,
  )
  expect(refused).toMatchObject({ code: 'JUDGE_REFUSED' })
  expect(refusing.server.requests[0]?.headers['authorization']).toBe(`Bearer ${key}`)
  const { what, why, fix, message, stack } = refused as Record<string, string>
  for (const text of [what, why, fix, message, stack]) expect(text).not.toContain(key)
  expect(why).toContain('***')
  const oracle = await makeOracle('judge:It is polite.', { judge: judged })
  expect(oracle.key).not.toContain(key)
  await expect(
    makeOracle('judge:x', { judge: { ...judged, apiKeyEnv: 'ORACLE_NO_KEY' } }),
  ).rejects.toMatchObject({ what: 'The variable ORACLE_NO_KEY is not set.' })
})

test('every oracle that docs/oracles.md shows fails its example, and passes a run that denies', async () => {
  const docs = await readFile(new URL('../../docs/oracles.md', import.meta.url), 'utf8')
  const files = [...docs.matchAll(/^```[jt]s\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, name, code]) => [
    name,
    code,
  ])
  const { folder, retake, ...rest } = await folderWith(
    Object.fromEntries(files) as Record<string, string>,
  )
  await linkModules(folder)
  await retake(['record', 'refund.mjs'])
  const [tape = ''] = await tapesOf({ folder, retake, ...rest })
  const recorded = openTape(tape)
  const { options } = await startJudge(honest((prompt) => prompt.includes('DENIED')))
  const shown = [...docs.matchAll(/^--oracle (?:'(.*)'|(\S+))$/gm)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  )
  expect(shown).toHaveLength(10)
  const failing = readOutcome(recorded)
  const passing = said(failing.stdout.replace('APPROVED', 'DENIED'))
  for (const text of shown) {
    const oracle = await makeOracle(text, { recorded, folder, ...options })
    expect([text, (await oracle(failing, never)).verdict]).toEqual([text, 'fail'])
    expect([text, (await oracle(passing, never)).verdict]).toEqual([text, 'pass'])
  }
})

// ── runs that broke ──────────────────────────────────────────────────────────

test('a fork that broke or was killed where the recorded run was not is undefined, also for its exit code', async () => {
  const workspace = await folderWith({
    'fine.mjs': 'console.log("DENIED")',
    'fails.mjs': 'console.log("DENIED"); throw new TypeError("gone")',
  })
  const tapes: string[] = []
  for (const file of ['fine.mjs', 'fails.mjs']) {
    await workspace.retake(['record', file])
    tapes.push((await tapesOf(workspace)).at(-1) ?? '')
  }
  const [fine = '', fails = ''] = tapes
  const broke: RunOutcome = {
    stdout: '',
    ended: true,
    exitCode: 1,
    error: { class: 'TypeError', message: 'x is undefined\nmore' },
  }
  const at = (file: string, oracle: string, outcome = broke) =>
    judge(oracle, outcome, { recorded: openTape(file) })
  expect(await at(fine, 'not:stdout:DENIED')).toEqual({
    verdict: 'undefined',
    reason: 'the run broke: TypeError: x is undefined',
  })
  expect(await at(fine, 'exit:0')).toMatchObject({ verdict: 'undefined' })
  expect(await at(fine, 'exit:0', killed)).toMatchObject({ verdict: 'undefined' })
  expect(await at(fine, 'exit:1', said('', { exitCode: 3 }))).toMatchObject({ verdict: 'fail' })
  expect(await at(fails, 'exit:0')).toMatchObject({ verdict: 'fail' })
  expect(await at(fails, 'not:stdout:DENIED')).toMatchObject({ verdict: 'pass' })
})
