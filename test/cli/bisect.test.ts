import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inShell } from './shown-commands.js'
import { folderWith } from './workspace.js'

/** The commands of a fenced block in docs/races.md that contains this text. */
function recipe(text: string): string[] {
  const page = readFileSync(new URL('../../docs/races.md', import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block)
  const lines = blocks.find((block) => block.includes(text))?.split('\n') ?? []
  return lines.map((line) => line.replace(/ +# .*/, '')).filter((line) => line !== '')
}

/** A repository whose first commit is tagged `v1.2.0` and recorded. */
async function makeRepository(agent: string) {
  const { folder, retake } = await folderWith({ 'agent.mjs': agent, '.gitignore': '.retake\n' })
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: folder,
      encoding: 'utf8',
    }).trim()
  const commit = (subject: string, text?: string): string => {
    writeFileSync(join(folder, 'notes.md'), subject)
    if (text !== undefined) writeFileSync(join(folder, 'agent.mjs'), text)
    git('add', '--all')
    git('commit', '--quiet', '--message', subject)
    return git('rev-parse', 'HEAD')
  }
  git('init', '--quiet', '--initial-branch=main')
  commit('Start')
  git('tag', 'v1.2.0')
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.code, recorded.stderr).toBe(0)
  const run = (command: string) => inShell(folder, command)
  return { git, commit, run }
}

const granted = (more = '') => `Math.random()\nconsole.log('refund granted${more}')\n`

test('git bisect run with retake verify finds the commit that changed the behaviour', async () => {
  const { git, commit, run } = await makeRepository(granted())
  commit('Note 1')
  commit('Break the syntax', 'console.log(')
  commit('Repair the syntax', `// repaired\n${granted()}`)
  const planted = commit('Refuse', granted(' never').replace('granted', 'refused'))
  commit('Note 2')
  const [start = '', verify = '', ...others] = recipe('git bisect start')
  expect([start, verify, others.at(-1)]).toEqual([
    'git bisect start HEAD v1.2.0',
    "git bisect run sh -c 'node --check agent.mjs || exit 125; npx retake verify last'",
    'git bisect reset',
  ])
  expect(run(start).code).toBe(0)
  const found = run(verify.replace('npx ', ''))
  expect(found.stdout + found.stderr).toContain(`${planted} is the first bad commit`)
  expect(found.code).toBe(0)
  expect(run('git bisect reset').code).toBe(0)
  expect(git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
})

test('what the program prints can decide instead, so that other differences do not count', async () => {
  const { commit, run } = await makeRepository(granted())
  commit('Reword', granted(' and sent'))
  const planted = commit('Refuse', granted().replace('granted', 'refused'))
  commit('Note 1')
  const [byOutput = ''] = recipe('--observe')
  expect(byOutput).toBe(
    `git bisect run sh -c 'npx retake replay last --observe | grep -q "refund granted"'`,
  )
  run('git bisect start HEAD v1.2.0')
  const found = run(byOutput.replace('npx ', ''))
  expect(found.stdout + found.stderr).toContain(`${planted} is the first bad commit`)
})
