import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startProvider } from '../support/loopback-provider.mjs'
import { run } from '../support/run-retake.mjs'
import { cli, folderWith, tapesOf } from './workspace.js'
import { sampled, soakOnly } from '../support/soak.js'

type Files = Readonly<Record<string, string>>

/** A repository of its own for one test, made commit by commit. */
async function makeRepository() {
  const workspace = await folderWith({})
  const { folder } = workspace
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: folder,
      encoding: 'utf8',
    }).trim()
  git('init', '--quiet', '--initial-branch=main')
  const write = async (files: Files): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text)
    }
  }
  const commit = async (subject: string, files: Files): Promise<string> => {
    await write(files)
    git('add', '--all', ':!.retake')
    git('commit', '--quiet', '--message', subject)
    return git('rev-parse', 'HEAD')
  }
  /** Everything of a checkout that a search must leave alone. */
  const state = async () => ({
    head: git('symbolic-ref', 'HEAD'),
    refs: git('for-each-ref'),
    index: (await readFile(join(folder, '.git', 'index'))).toString('base64'),
    indexTime: (await stat(join(folder, '.git', 'index'))).mtimeMs,
    status: git('--no-optional-locks', 'status', '--porcelain'),
    worktrees: git('worktree', 'list'),
    administration: (await readdir(join(folder, '.git'))).includes('worktrees'),
  })
  return { ...workspace, git, write, commit, state }
}

const agent = `import { ask } from './ask.mjs'
const answer = await ask('Should order 1182 be refunded?')
console.log('answered', typeof answer)
`
const ask = (prompt: string): string => `export async function ask(question) {
  const response = await fetch(process.env.AGENT_BASE_URL + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      messages: [{ role: 'system', content: ${JSON.stringify(prompt)} }, { role: 'user', content: question }],
    }),
  })
  return (await response.json()).choices[0].message.content
}
`

type Repository = Awaited<ReturnType<typeof makeRepository>>

/** Records at the newest commit; the provider is gone afterwards. */
async function recordHere({ retake }: Repository, entry: string): Promise<void> {
  const provider = await startProvider({ seed: 7, maxLatencyMs: 0 })
  try {
    const recorded = await retake(['record', entry], { env: { AGENT_BASE_URL: provider.url } })
    expect(recorded.code, recorded.stderr).toBe(0)
  } finally {
    await provider.close()
  }
}

const noise = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

test('the commit that changed the prompt is found among twelve, one of which does not start', async () => {
  const repository = await makeRepository()
  const { commit, retake, state } = repository
  const good = await commit('Start', { 'agent.mjs': agent, 'ask.mjs': ask('Be brief.') })
  await recordHere(repository, 'agent.mjs')
  for (const n of noise(1, 3)) await commit(`Note ${n}`, { 'notes.md': `${n}` })
  await commit('Break the syntax', { 'ask.mjs': 'export async function ask( {' })
  await commit('Repair the syntax', { 'ask.mjs': `// repaired\n${ask('Be brief.')}` })
  const planted = await commit('Ask for long answers', { 'ask.mjs': ask('Be verbose.') })
  for (const n of noise(4, 8)) await commit(`Note ${n}`, { 'notes.md': `${n}` })
  const before = await state()

  const { stdout, stderr, code } = await retake(['bisect', 'last', '--good', good])
  expect(stderr).toMatch(/^same +\w+ Start · about \d steps left$/m)
  expect(code).toBe(3)
  expect(stdout).toContain(`${planted} is the first different commit`)
  expect(stdout).toContain('subject Ask for long answers')
  expect(stdout).toMatch(/date {4}\d{4}-\d\d-\d\dT/)
  expect(stdout).toContain('- "Be brief."')
  expect(stdout).toContain('+ "Be verbose."')
  expect(stdout).toMatch(/at {3}ask\.mjs:2:\d+/)
  expect(stdout).toContain(`git show ${planted.slice(0, 7)}`)
  expect(await state()).toEqual(before)
  expect(before.administration).toBe(false)
})

test('a commit that does not start is skipped, and named if it may be the one', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake } = repository
  const good = await commit('Start', { 'agent.mjs': agent, 'ask.mjs': ask('Be brief.') })
  await recordHere(repository, 'agent.mjs')
  const broken = await commit('Import what is not there', { 'ask.mjs': `import './gone.mjs'` })
  const bad = await commit('Ask for long answers', { 'ask.mjs': ask('Be verbose.') })
  const { stdout, code } = await retake(['bisect', 'last', '--good', good, '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    found: false,
    commit: { hash: bad },
    doubtful: [{ hash: broken }],
    tried: [
      { commit: good, verdict: 'same' },
      { commit: bad, verdict: 'different' },
      { commit: broken, verdict: 'untestable', reason: expect.stringContaining('gone.mjs') },
    ],
  })
})

const oracles: readonly [string, string][] = [
  ['a regular expression', 'stdout:/refund granted/i'],
  ['a command', 'grep -qi "refund granted"'],
  ['the exit code', 'exit:0'],
]

test.each(sampled(oracles, (_, index) => index === 1))('an oracle flips: %s', async (_, oracle) => {
  const repository = await makeRepository()
  const { commit, retake } = repository
  const says = (text: string, exit = '') => `import { ask } from './ask.mjs'
await ask('Refund?')
console.log(${JSON.stringify(text)})
${exit}`
  const good = await commit('Start', {
    'agent.mjs': says('Refund granted'),
    'ask.mjs': ask('Be brief.'),
  })
  await recordHere(repository, 'agent.mjs')
  await commit('Reword', { 'agent.mjs': says('The refund granted is yours') })
  await commit('Change the prompt', { 'ask.mjs': ask('Be kind.') })
  const planted = await commit('Refuse', {
    'agent.mjs': says('Refund refused', 'process.exitCode = 4'),
  })
  for (const n of noise(1, 4)) await commit(`Note ${n}`, { 'notes.md': `${n}` })
  const { stdout, code } = await retake([
    'bisect',
    'last',
    '--good',
    good,
    '--oracle',
    oracle,
    '--json',
  ])
  expect(code).toBe(3)
  expect(JSON.parse(stdout)).toMatchObject({ found: true, commit: { hash: planted } })
})

test('a TypeScript agent in a subfolder may contain its own path everywhere', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake, folder } = repository
  const source = (greeting: string) => `import { readFileSync, realpathSync } from 'node:fs'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ask } from './ask.ts'
const here: string = path.dirname(fileURLToPath(import.meta.url))
console.log(import.meta.url, process.cwd(), process.argv[1], here.length)
console.log(path.relative(process.cwd(), realpathSync(here)))
console.log(readFileSync(path.join(here, 'prompt.txt'), 'utf8'))
try { readFileSync(here + '/gone.txt') } catch (error) { console.log(error.message, error.stack, error.path === here + '/gone.txt') }
console.log(path.relative(execFileSync('pwd', { encoding: 'utf8' }).trim(), here))
console.log(new Error('trace').stack, process.env.PWD === process.cwd())
console.log(typeof await ask(${JSON.stringify(greeting)} + here))
`
  const askTs = ask('Be brief.').replace('(question)', '(question: string)')
  const write = (greeting: string) => ({ 'app/src/agent.ts': source(greeting) })
  const good = await commit('Start', {
    ...write('I am in '),
    'app/src/ask.ts': askTs,
    'app/src/prompt.txt': folder,
  })
  const provider = await startProvider({ seed: 7, maxLatencyMs: 0 })
  const recorded = await run(
    process.execPath,
    [cli, 'record', 'src/agent.ts'],
    join(folder, 'app'),
    { env: { AGENT_BASE_URL: provider.url, PWD: join(folder, 'app') } },
  )
  await provider.close()
  expect(recorded.code, recorded.stderr).toBe(0)
  for (const n of noise(1, 4)) await commit(`Note ${n}`, { 'notes.md': `${n}` })
  const planted = await commit('Greet', write('Hello from '))
  await commit('Note 5', { 'notes.md': '5' })
  const dir = join(folder, 'app', '.retake', 'runs')
  const found = await retake(['bisect', 'last', '--dir', dir, '--good', good, '--json'])
  expect(found.code, found.stdout + found.stderr).toBe(3)
  const answer = JSON.parse(found.stdout)
  expect(answer.commit.hash).toBe(planted)
  expect(found.stdout).not.toContain('retake-b')
  expect(answer.replayed.divergences[0].mismatches).toEqual([
    {
      field: 'body.messages[1].content',
      recorded: `I am in ${folder}/app/src`,
      current: `Hello from ${folder}/app/src`,
    },
  ])
})

test('installed packages are reused if the lock file is the same; workspace packages come from the commit', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake, write, folder } = repository
  const own = (word: string) => ({ 'packages/own/index.js': `export default '${word}'` })
  const good = await commit('Start', {
    '.gitignore': 'node_modules',
    'package-lock.json': '{ "version": 1 }',
    'agent.mjs': `import word from 'own'\nimport other from 'other'\nconsole.log(word, other)`,
    'packages/own/package.json': '{ "name": "own", "type": "module", "exports": "./index.js" }',
    ...own('one'),
  })
  await write({
    'node_modules/other/package.json': '{ "type": "module", "exports": "./index.js" }',
    'node_modules/other/index.js': `export default 'installed'`,
  })
  await symlink('../packages/own', join(folder, 'node_modules', 'own'))
  expect((await retake(['record', 'agent.mjs'])).stdout).toBe('one installed\n')
  await commit('Lock others', { 'package-lock.json': '{ "version": 2 }' })
  await commit('Lock the first again', { 'package-lock.json': '{ "version": 1 }' })
  const planted = await commit('Change the own package', own('two'))
  await commit('Note', { 'notes.md': '1' })
  const args = ['bisect', 'last', '--good', good]
  const { stdout, code } = await retake([...args, '--json'])
  expect(code).toBe(3)
  expect(JSON.parse(stdout)).toMatchObject({ commit: { hash: planted }, modules: 'linked' })
  await commit('Lock others again', { 'package-lock.json': '{ "version": 3 }' })
  const middle = await retake([...args, '--bad', planted])
  expect(middle.stderr).toContain('The good commit')
  expect(middle.stderr).toContain('BISECT_UNTESTABLE')
  // A build that empties node_modules must not empty the checkout's.
  await commit('Lock the first once more', { 'package-lock.json': '{ "version": 1 }' })
  const emptied = await retake([...args, '--run', 'rm -rf node_modules/* && false'])
  expect(emptied.stderr).toContain('exit code 1')
  expect(await readdir(join(folder, 'node_modules', 'other'))).toEqual(['index.js', 'package.json'])
})

test('--run builds each commit before it is replayed', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake, write } = repository
  const source = (word: string) => ({ 'source.txt': `console.log('${word}')` })
  const good = await commit('Start', { '.gitignore': 'dist\n', ...source('one') })
  await write({ 'dist/agent.mjs': `console.log('one')` })
  expect((await retake(['record', 'dist/agent.mjs'])).code).toBe(0)
  for (const n of noise(1, 2)) await commit(`Note ${n}`, { 'notes.md': `${n}` })
  const planted = await commit('Say two', source('two'))
  await commit('Note 3', { 'notes.md': '3' })
  const build = ['--run', 'mkdir dist && cp source.txt dist/agent.mjs']
  const { stdout, code } = await retake(['bisect', 'last', '--good', good, ...build])
  expect(code).toBe(3)
  expect(stdout).toContain(planted)
  const unbuilt = await retake(['bisect', 'last', '--good', good])
  expect(unbuilt.code).toBe(1)
  expect(unbuilt.stderr).toContain('BISECT_UNTESTABLE')
})

test('a commit on a side branch is found, not the merge that brought it', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake, git } = repository
  const files = {
    'agent.mjs': `import a from './a.mjs'\nimport b from './b.mjs'\nconsole.log(a + b)`,
  }
  const good = await commit('Start', {
    ...files,
    'a.mjs': 'export default 1',
    'b.mjs': 'export default 1',
  })
  await retake(['record', 'agent.mjs'])
  git('checkout', '--quiet', '-b', 'side')
  await commit('Side note', { 'side.md': '1' })
  const planted = await commit('Change b on the side', { 'b.mjs': 'export default 2' })
  git('checkout', '--quiet', 'main')
  await commit('Note', { 'notes.md': '1' })
  git('merge', '--quiet', '--no-ff', '-m', 'Merge side', 'side')
  await commit('Note 2', { 'notes.md': '2' })
  const { stdout, code } = await retake(['bisect', 'last', '--good', good])
  expect(code).toBe(3)
  expect(stdout).toContain(`${planted} is the first different commit`)
})

test('Ctrl-C leaves nothing behind', async () => {
  const repository = await makeRepository()
  const { commit, retake, folder, state } = repository
  const good = await commit('Start', { 'agent.mjs': `console.log('one')` })
  await retake(['record', 'agent.mjs'])
  await commit('Say two', { 'agent.mjs': `console.log('two')` })
  const before = await state()
  const mark = join(folder, '..', 'mark')
  const child = spawn(
    process.execPath,
    [cli, 'bisect', 'last', '--good', good, '--run', `echo > '${mark}'; sleep 600`],
    { cwd: folder, stdio: 'ignore' },
  )
  await vi.waitFor(() => stat(mark), { timeout: 60_000 })
  expect((await state()).worktrees).not.toBe(before.worktrees)
  const asked = performance.now()
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  expect(code).toBe(130)
  expect(performance.now() - asked).toBeLessThan(300_000)
  expect(await state()).toEqual(before)
})

test('searches that cannot work are refused with the reason', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake, git, write } = repository
  const good = await commit('Start', {
    'agent.mjs': `console.log('one')`,
    'killed.mjs': `console.log('one'); process.kill(process.pid, 'SIGKILL')`,
  })
  await retake(['record', 'agent.mjs'])
  await commit('Note', { 'notes.md': '1' })
  const second = git('rev-parse', 'HEAD')
  git('checkout', '--quiet', '--orphan', 'other')
  const unrelated = await commit('Elsewhere', { 'agent.mjs': `console.log('one')` })
  git('checkout', '--quiet', 'main')
  const bad = await commit('Say two', { 'agent.mjs': `console.log('two')` })
  const codeOf = async (...args: string[]): Promise<unknown> => {
    const { stdout, code } = await retake(['bisect', '--json', ...args])
    return [code, JSON.parse(stdout).error?.code]
  }
  expect(await codeOf('last')).toEqual([2, 'WRONG_USAGE'])
  expect(await codeOf('last', '--good', good, '--oracle', 'exit:x')).toEqual([2, 'WRONG_USAGE'])
  expect(await codeOf('last', '--good', good, '--oracle', 'stdout:/(/')).toEqual([2, 'WRONG_USAGE'])
  expect(await codeOf('last', '--good', good, '--timeout', 'soon')).toEqual([2, 'WRONG_USAGE'])
  expect(await codeOf('last', '--good', 'nowhere')).toEqual([1, 'UNKNOWN_REVISION'])
  expect(await codeOf('last', '--good=--help')).toEqual([1, 'UNKNOWN_REVISION'])
  expect(await codeOf('last', '--good', bad)).toEqual([1, 'BISECT_SAME_COMMIT'])
  expect(await codeOf('last', '--good', unrelated)).toEqual([1, 'NOT_AN_ANCESTOR'])
  expect(await codeOf('last', '--good', bad, '--bad', good)).toEqual([1, 'NOT_AN_ANCESTOR'])
  expect(await codeOf('last', '--good', good, '--bad', second)).toEqual([1, 'BISECT_NOT_BAD'])
  await commit('Note 2', { 'notes.md': '2' })
  expect(await codeOf('last', '--good', bad)).toEqual([1, 'BISECT_NOT_GOOD'])
  await write({ 'agent.mjs': `console.log('three')` })
  expect(await codeOf('last', '--good', good)).toEqual([1, 'DIRTY_TREE'])
  expect(await codeOf('last', '--good', good, '--allow-dirty')).toEqual([3, undefined])
  git('checkout', '--quiet', '--', 'agent.mjs')

  const [tape = ''] = await tapesOf(repository)
  await retake(['record', 'killed.mjs'])
  expect(await codeOf('last', '--good', good)).toEqual([1, 'BISECT_CUT_OFF'])
  const outside = await folderWith({})
  const elsewhere = await outside.retake(['bisect', tape, '--good', good, '--json'])
  expect(JSON.parse(elsewhere.stdout).error.code).toBe('NOT_A_REPOSITORY')
  execFileSync('git', ['init', '--quiet'], { cwd: outside.folder })
  const other = await outside.retake(['bisect', tape, '--good', good, '--json'])
  expect(JSON.parse(other.stdout).error.code).toBe('OUTSIDE_REPOSITORY')
})

test('a run that was recorded by record() is refused', async () => {
  soakOnly()
  const repository = await makeRepository()
  const { commit, retake, folder } = repository
  const front = new URL('../../packages/cli/dist/index.js', import.meta.url).href
  const good = await commit('Start', {
    'program.mjs': `import { record } from ${JSON.stringify(front)}
await record({ name: 'inside' }, async () => Date.now())`,
  })
  execFileSync(process.execPath, ['program.mjs'], { cwd: folder })
  const { stdout, code } = await retake(['bisect', 'last', '--good', good, '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout).error.code).toBe('NOT_A_PROCESS_RUN')
})
