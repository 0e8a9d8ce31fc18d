import { execFileSync } from 'node:child_process'
import { readFileSync, truncateSync } from 'node:fs'
import {
  copyFile,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer } from '@retake/engine/testing'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

const repository = fileURLToPath(new URL('../../', import.meta.url))

/** Decides on an order with a prompt in a file, two model calls and a tool. */
const agent = `
import { appendFileSync, readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { tool } from 'retake'
const client = new OpenAI({ maxRetries: 0 })
const prompt = readFileSync('prompt.txt', 'utf8').trim()
const refund = tool('refund', async (id) => {
  appendFileSync(process.env.EFFECTS, id + '\\n')
  return 'refunded ' + id
})
const ask = async (content) => {
  const messages = [{ role: 'system', content: prompt }, { role: 'user', content }]
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
  return choices[0].message.content
}
const id = process.argv[2]
const plan = await ask('Plan for ' + id)
const done = await refund(id)
const text = await ask('Report ' + plan + ' ' + done)
console.log('RESULT', text)
`

async function corpus(ids: readonly string[]) {
  const server = await startModelServer({
    answer: ({ messages }) => {
      const text = messages.at(-1)?.text ?? ''
      const isRude = messages[0]?.text?.includes('rude') === true
      const usage = { input: 1000, output: 100 }
      if (text.startsWith('Plan')) return { text: isRude ? 'refuse' : 'pay', usage }
      return { text: text.includes('pay') && !text.includes('badly') ? 'GOOD' : 'BAD', usage }
    },
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': agent,
    'prompt.txt': 'Be kind.',
    'effects.txt': '',
  })
  const env = { ...server.env, EFFECTS: join(folder, 'effects.txt') }
  const retake = async (...args: string[]) => {
    const before = server.requests.length
    const finished = await run(process.execPath, [cli, ...args], folder, { env })
    return { ...finished, sent: server.requests.length - before }
  }
  for (const id of ids) expect((await retake('record', 'agent.mjs', id)).code).toBe(0)
  await rename(join(folder, '.retake/runs'), join(folder, 'tapes'))
  await mkdir(join(folder, '.retake/runs'))
  await writeFile(env.EFFECTS, '')
  const ci = async (...args: string[]) => {
    const flags = ['--oracle', 'stdout:GOOD', '--times', '2', '--jobs', '2', '--json']
    const finished = await retake('verify', '--code', 'today', 'tapes', ...flags, ...args)
    expect(finished.stdout, finished.stderr).not.toBe('')
    const { line, counts, tapes } = JSON.parse(finished.stdout) as Result
    return { ...finished, line, counts, tapes }
  }
  const edit = (change: (source: string) => string) =>
    writeFile(join(folder, 'agent.mjs'), change(agent))
  const effects = () => readFileSync(env.EFFECTS, 'utf8')
  return { folder, retake, ci, edit, effects, env, server }
}

interface Result {
  readonly line: string
  readonly counts: Readonly<Record<string, number>>
  readonly tapes: readonly {
    readonly status: string
    readonly reason: string
    readonly diff?: readonly string[]
    readonly site?: string
  }[]
}

test('unchanged requests are verified at no cost; a regression is found with the difference that started it', async () => {
  const { ci, edit, effects, folder, server } = await corpus(['1', '2'])
  const same = await ci()
  expect(same).toMatchObject({ code: 0, sent: 0, counts: { unchanged: 2 } })
  expect(same.line).toMatch(/^2 of 2 unchanged \(proved\) · \$0 · /)

  // A log line and a read of the clock.
  await edit((source) =>
    source.replace('const id =', "console.error('at', Date.now())\nconst id ="),
  )
  expect(await ci()).toMatchObject({ code: 0, sent: 0, counts: { unchanged: 2 } })

  await edit((source) => source.replace("'Report ' +", "'Report badly ' +"))
  const worse = await ci('--junit', 'out/ci.xml', '--comment', 'out/ci.md')
  expect(worse, worse.stderr).toMatchObject({ code: 3, counts: { fails: 2 } })
  // Two continuations of one request each.
  expect(worse.sent).toBe(4)
  expect(worse.line).toMatch(
    /^0 of 2 unchanged \(proved\) · 2 now fail \[\.\d+–1\] · \$0\.00084 · /,
  )
  expect(worse.tapes[0]?.diff?.join('\n')).toContain('Report badly')
  expect(worse.tapes[0]?.site).toMatch(/agent\.mjs:\d+:\d+$/)
  expect(readFileSync(join(folder, 'out/ci.xml'), 'utf8')).toMatch(/tests="2" failures="2"/)
  const comment = readFileSync(join(folder, 'out/ci.md'), 'utf8')
  expect(comment).toContain(`### Retake: ${worse.line}`)
  expect(comment).toContain('Report badly')
  expect(effects()).toBe('')

  await server.stop()
  const down = await ci()
  expect(down).toMatchObject({ code: 1, counts: { undecided: 2 } })
})

test('a changed prompt file is read as it is today; the same outcome is not confused with a failure or an effect', async () => {
  soakOnly()
  const { ci, edit, effects, folder } = await corpus(['1'])
  await writeFile(join(folder, 'prompt.txt'), 'Be very kind.')
  expect(await ci()).toMatchObject({ code: 0, sent: 4, counts: { same: 1 } })
  await writeFile(join(folder, 'prompt.txt'), 'Be rude.')
  expect(await ci()).toMatchObject({ code: 3, counts: { fails: 1 } })
  await writeFile(join(folder, 'prompt.txt'), 'Be kind.')
  await edit((source) => source.replace('await refund(id)', "await refund(id + '0')"))
  const other = await ci()
  expect(other).toMatchObject({ code: 1, sent: 0, counts: { undecided: 1 } })
  expect(other.tapes[0]?.reason).toMatch(/would run .*refund.*--live-tools/)
  expect(effects()).toBe('')
  // The output is judged, too.
  await edit((source) => source.replace("console.log('RESULT', text)", "console.log('RESULT')"))
  expect(await ci()).toMatchObject({ code: 3, sent: 0, counts: { fails: 1 } })
  await edit((source) => source.replace("'RESULT', text", "'RESULTS', text"))
  expect(await ci()).toMatchObject({ code: 0, sent: 0, counts: { same: 1 } })
})

test('tapes that cannot be checked are listed, and an exhausted budget is reported', async () => {
  const { ci, edit, folder, retake, env } = await corpus(['1', '2'])
  const names = await readdir(join(folder, 'tapes'))
  const tape = names.find((each) => each.endsWith('.tape')) ?? ''
  await copyFile(join(folder, 'tapes', tape), join(folder, 'tapes/cut.tape'))
  truncateSync(join(folder, 'tapes/cut.tape'), 3000)
  await writeFile(join(folder, 'tapes/broken.tape'), 'not a tape')
  const foreign = await run(
    process.execPath,
    [cli, 'verify', '--code', 'today', 'tapes', '--oracle', 'exit:0', '--json'],
    folder,
    {
      env: { ...env, XDG_STATE_HOME: join(folder, 'elsewhere') },
    },
  )
  expect(foreign.code).toBe(0)
  expect(JSON.parse(foreign.stdout)).toMatchObject({ counts: { skipped: 4 } })
  expect(foreign.stdout).toContain('RUN_NOT_TRUSTED')

  await edit((source) => source.replace("'Report ' +", "'Report badly ' +"))
  const poor = await ci('--max-usd', '0.0003')
  expect(poor.counts).toMatchObject({ fails: 1, undecided: 1, skipped: 2 })
  expect(poor.sent).toBe(1)
  expect(poor.code).toBe(3)
  expect(poor.tapes.map(({ reason }) => reason).join()).toContain('out of budget')

  const none = await retake('verify', '--code', 'today', 'tapes')
  expect(none).toMatchObject({ code: 2 })
  const empty = await retake('verify', '--code', 'today', 'nowhere', '--oracle', 'exit:0')
  expect(empty.stderr).toContain('UNKNOWN_RUN')
})

test('--base continues the old code live from the same step, in a worktree', async () => {
  soakOnly()
  const { ci, edit, folder, server } = await corpus(['1'])
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.email=a@b', '-c', 'user.name=a', ...args], { cwd: folder })
  await writeFile(join(folder, '.gitignore'), 'node_modules\n.retake\ntapes\n')
  // A folder of packages, as a package manager makes it.
  const modules = join(folder, 'node_modules')
  await rm(modules)
  await mkdir(modules)
  for (const name of ['openai', 'retake'])
    await symlink(await realpath(join(repository, 'node_modules', name)), join(modules, name))
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'first')
  await edit((source) => source.replace("'Report ' +", "'Report badly ' +"))
  const found = await ci('--base', 'HEAD')
  expect(found, found.stderr).toMatchObject({ code: 3 })
  expect(found.tapes, JSON.stringify(found.tapes)).toMatchObject([
    { base: { judged: 2, passed: 2 }, now: { passed: 0 } },
  ])
  expect(server.requests.length).toBeGreaterThan(0)
  const unknown = await run(
    process.execPath,
    [cli, 'verify', '--code', 'today', 'tapes', '--oracle', 'exit:0', '--base', 'nope'],
    folder,
  )
  expect(unknown.stderr).toContain('UNKNOWN_REVISION')
})
