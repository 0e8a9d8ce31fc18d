import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blameRun, causeIndexes, classicView } from '@retake/lab'
import type { Coalition, Fork, ForkSource } from '@retake/lab'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { RateLimitPause } from '../../packages/lab/dist/blame/forks.js'
import { filesNote } from '../../packages/lab/dist/blame/search-run.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import { folderWith, tapesOf } from './workspace.js'
import { soakOnly } from '../support/soak.js'

/** A program whose steps follow from one another, without processes. What is kept is wrong; `free` makes the others. */
function program(
  stepCount: number,
  free: (step: number, wrong: readonly boolean[]) => boolean,
  fails: (wrong: readonly boolean[], coalition: Coalition) => boolean,
): ForkSource {
  return {
    stepCount,
    recorded: Array.from({ length: stepCount }, () => 'wrong'),
    ambient: [],
    fork(coalition): Promise<Fork> {
      const wrong: boolean[] = []
      for (let step = 0; step < stepCount; step++)
        wrong.push(coalition.pinned.includes(step) || free(step, wrong))
      return Promise.resolve({
        outcome: fails(wrong, coalition) ? 'fail' : 'pass',
        values: wrong.map((isWrong) => (isWrong ? 'wrong' : 'right')),
      })
    },
  }
}

test('a step that follows from half of a joint cause is an echo, not a second cause', async () => {
  // Two lanes: 0 then 3, and 2 then 4; 6 joins them. 1 and 5 are bystanders.
  const source = program(
    7,
    (step, wrong) => {
      if (step === 3) return wrong[0]!
      if (step === 4) return wrong[2]!
      return step === 6 && wrong[3]! && wrong[4]!
    },
    (wrong) => wrong[6]!,
  )
  for (const seed of [1, 2, 3, 4, 5]) {
    const found = await blameRun(source, { seed })
    expect(causeIndexes(found)).toEqual([[0, 2]])
    expect(found.steps.map(({ role }) => role).join(' ')).toBe(
      'joint clear joint affected affected clear echo',
    )
  }
})

test('an outage during the search makes no step a cause', async () => {
  for (let soundForks = 4; soundForks < 28; soundForks += 2) {
    let forks = 0
    const source = program(
      5,
      () => false,
      (wrong, { pinned }) => {
        if (pinned.length === wrong.length) return true
        return wrong[2]! || ++forks > soundForks
      },
    )
    const found = await blameRun(source, { maxForks: 400 })
    const named = causeIndexes(found)
    expect({ soundForks, named }).toEqual({
      soundForks,
      named: found.verdict === 'attributed' ? [[2]] : [],
    })
  }
})

test('an audit whose forks reach no verdict is not ignored', async () => {
  for (const [soundForks, isNoted] of [
    [12, true],
    [Infinity, false],
  ] as const) {
    let forks = 0
    const sound = program(
      5,
      () => false,
      (wrong) => wrong[2]!,
    )
    const source: ForkSource = {
      ...sound,
      async fork(coalition, draw): Promise<Fork> {
        const fork = await sound.fork(coalition, draw)
        const isLost = coalition.pinned.length < 5 && ++forks > soundForks
        return isLost ? { ...fork, outcome: 'undefined' } : fork
      },
    }
    const found = await blameRun(source)
    expect(causeIndexes(found)).toEqual([[2]])
    expect(found.notes.some((note) => note.includes('hardly audited'))).toBe(isNoted)
  }
})

test('the budget holds for concurrent forks, lost forks and controls', async () => {
  let spent = 0
  let forks = 0
  const source: ForkSource = {
    stepCount: 4,
    concurrency: 4,
    recorded: ['a', 'b', 'c', 'd'],
    ambient: [],
    async fork({ pinned }): Promise<Fork> {
      spent += 30
      const isLost = ++forks % 2 === 0
      await Promise.resolve()
      const values = ['a', 'b', 'c', 'd']
      return isLost
        ? { outcome: 'undefined', values }
        : { outcome: pinned.includes(1) ? 'fail' : 'pass', values, costUsd: 0.3 }
    },
  }
  const limits = { maxUsd: 1, forkUsd: 0.3 }
  expect(await blameRun(source, limits)).toMatchObject({ verdict: 'stopped', causes: [] })
  expect(spent).toBeGreaterThan(0)
  expect(spent).toBeLessThanOrEqual(100)
  spent = 0
  const one = { ...source, concurrency: 1 }
  expect(await classicView(one, limits)).toMatchObject({ isStopped: true })
  expect(spent).toBeLessThanOrEqual(100)
})

test('attempts that a provider refused count as paid', async () => {
  soakOnly()
  const pause = new RateLimitPause(new AbortController().signal)
  let tries = 0
  const run = await pause.retrying(() =>
    Promise.resolve({
      outcome: { stdout: '', ended: true },
      values: {},
      answers: {},
      samples: {},
      sampled: 0,
      liveSteps: 2,
      forced: 0,
      assumed: [],
      tokens: 10,
      costUsd: 0.25,
      ...(++tries < 3 && { rateLimit: { retryAfterMs: 0 } }),
      remove: () => {},
    }),
  )
  expect(run).toMatchObject({ tokens: 30, costUsd: 0.75 })
})

test('an oracle counts as changed when a script that it names or a file that it imports changes', async () => {
  soakOnly()
  const { folder } = await folderWith({
    'check.sh': 'grep -q PASSED',
    'oracle.mjs': `import { word } from './word.mjs'\nexport default ({ stdout }) => stdout.includes(word)`,
    'word.mjs': `export const word = 'PASSED'`,
  })
  const keys = async (): Promise<string[]> => {
    const options = { verb: 'blame', folder }
    const command = await makeOracle(`sh ${join(folder, 'check.sh')}`, options)
    const file = await makeOracle('oracle.mjs', options)
    return [command.key, file.key]
  }
  const [command, file] = await keys()
  expect(await keys()).toEqual([command, file])
  await writeFile(join(folder, 'check.sh'), 'grep -q DENIED')
  await writeFile(join(folder, 'word.mjs'), `export const word = 'DENIED'`)
  const [otherCommand, otherFile] = await keys()
  expect(otherCommand).not.toBe(command)
  expect(otherFile).not.toBe(file)
})

test('a provider outage is not blamed on a step, and the next command repeats the requests', async () => {
  soakOnly()
  const provider = { says: 'bad', isDown: false }
  const server = createServer((_, response) => {
    if (provider.isDown) response.writeHead(500)
    response.end(provider.says)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/policy`
  const { retake } = await folderWith({
    'agent.mjs': `const policy = await (await fetch('${url}')).text()
console.log(policy === 'good' ? 'PASSED' : 'FAILED')`,
  })
  await retake(['record', 'agent.mjs'])
  const blame = async (): Promise<FindingsFile> => {
    const args = ['blame', 'last', '--oracle', 'stdout:PASSED', '--json']
    return JSON.parse((await retake(args)).stdout) as FindingsFile
  }
  provider.isDown = true
  const down = await blame()
  expect(down.findings).toMatchObject({ verdict: 'inconclusive', causes: [] })
  expect(Object.keys(down.facts.undefinedBy)).toEqual([`GET ${url} was not answered: status 500`])
  Object.assign(provider, { says: 'good', isDown: false })
  const up = await blame()
  expect(up.findings).toMatchObject({ verdict: 'attributed', causes: [{ steps: ['1'] }] })
  expect(up.findings.forks.undefined).toBe(0)
})

test('an oracle finds files of a fork, is warned if it does not look there, and depends on the files that it reads', async () => {
  soakOnly()
  const workspace = await folderWith({
    'agent.mjs': `import { readFileSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
const run = (text) => execFileSync(process.execPath, ['-p', text], { encoding: 'utf8' }).trim()
const days = run('90')
writeFileSync('answer.txt', days === '30' ? 'DENIED' : 'APPROVED')
readFileSync('terms.txt')
run('0')`,
    'terms.txt': 'of then',
  })
  await workspace.retake(['record', 'agent.mjs'])
  const answer = { payload: { stdout: '30\n', stderr: '', exitCode: 0 } }
  await writeFile(join(workspace.folder, 'free.json'), JSON.stringify({ 1: answer, 2: answer }))
  const oracle = 'cmd:grep -q DENIED "$RETAKE_FILES/answer.txt"'
  const blame = ['blame', 'last', '--oracle', oracle, '--free', 'all=script:free.json', '--json']
  const { stdout } = await workspace.retake(blame)
  const { findings, question } = JSON.parse(stdout) as FindingsFile
  expect(findings).toMatchObject({ verdict: 'attributed', causes: [{ steps: ['1'] }] })
  expect(findings.steps.map(({ role }) => role)).toEqual(['root', 'clear'])

  // What the agent read may be another text by now: then forks of then say nothing.
  const capped = [...blame, '--max-forks', '0']
  const questions = new Set([question])
  for (const terms of ['of then', 'of now']) {
    await writeFile(join(workspace.folder, 'terms.txt'), terms)
    questions.add((JSON.parse((await workspace.retake(capped)).stdout) as FindingsFile).question)
  }
  expect(questions.size).toBe(2)

  const tape = openTape((await tapesOf(workspace))[0] ?? '')
  const flat = { verdict: 'no attributable step' } as const
  expect(filesNote(tape, 'grep -q DENIED answer.txt', flat).join()).toContain('RETAKE_FILES')
  expect(filesNote(tape, oracle, flat)).toEqual([])
  expect(filesNote(tape, 'not:exit:0', flat)).toEqual([])
})
