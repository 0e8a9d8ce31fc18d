import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { soakOnly } from '../support/soak.js'
import { agent, projectWith } from './fix-project.js'
import { cli } from './workspace.js'

const hasScript = spawnSync('script', ['--version']).status === 0

/** Runs a command on a terminal; each text is typed when its prompt is shown. */
async function onTerminal(
  args: readonly string[],
  { cwd, env, typed }: { cwd: string; env: NodeJS.ProcessEnv; typed: readonly [string, string][] },
): Promise<string> {
  const command = [process.execPath, cli, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    env: { ...process.env, ...env },
  })
  let shown = ''
  const waiting = [...typed]
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
    const [next] = waiting
    if (next === undefined || !shown.includes(next[0])) return
    waiting.shift()
    child.stdin.write(next[1])
  })
  await once(child, 'close')
  return stripVTControlCharacters(shown)
}

test('with the policy "apply", a terminal shows the fix and applies it after a yes', async (context) => {
  soakOnly()
  context.skip(!hasScript, 'there is no `script`')
  const { folder, env, read, retake } = await projectWith(['9'])
  await writeFile(join(folder, 'retake.config.json'), '{ "fix": { "policy": "apply" } }')
  const args = ['fix', 'last', '--no-ai', '--no-test']
  const prompt = 'Apply this fix? [y/N] '
  const refused = await onTerminal(args, { cwd: folder, env, typed: [[prompt, 'n\r']] })
  expect(refused).toMatch(/\+ *const decision[^]*Apply this fix/)
  expect(read()).toBe(agent)
  const applied = await onTerminal(args, { cwd: folder, env, typed: [[prompt, 'y\r']] })
  expect(applied).toContain('undo     retake fix --undo')
  expect(read()).not.toBe(agent)
  expect(await retake('fix', '--undo')).toMatchObject({ code: 0 })
  // Without a terminal it only suggests.
  expect(await retake(...args)).toMatchObject({ code: 7 })
  expect(read()).toBe(agent)
}, 600_000)

test('with the policy "auto", a proven fix applies itself if 59 passing runs stay identical, and not with 58', async () => {
  soakOnly()
  const { folder, runs, fix, read } = await projectWith(['1', '8', '9'])
  await writeFile(join(folder, 'retake.config.json'), '{ "fix": { "policy": "auto" } }')
  const [passing = ''] = runs
  const corpus = join(folder, 'corpus')
  await mkdir(corpus)
  const add = async (from: number, to: number): Promise<void> => {
    for (let index = from; index < to; index++)
      await copyFile(join(folder, `.retake/runs/${passing}.tape`), join(corpus, `${index}.tape`))
  }
  await add(0, 58)
  const args = ['last', '--no-ai', '--corpus', 'corpus', '--no-test']
  const judged = [...args, '--oracle', 'stdout:/RESULT (pay|deny)/']
  const few = await fix(...judged)
  expect(few, few.said).toMatchObject({ code: 0, corpus: 58, result: { claim: 'proven' } })
  expect(read()).toBe(agent)
  await add(58, 59)
  // Without an oracle, the same evidence proves nothing about results.
  const unjudged = await fix(...args)
  expect(unjudged, unjudged.said).toMatchObject({ code: 6, corpus: 59 })
  expect(read()).toBe(agent)
  const many = await fix(...judged)
  expect(many, many.said).toMatchObject({ code: 0, corpus: 59 })
  expect(many.applied).toMatchObject({ files: ['agent.mjs'] })
  expect(read()).toBe(many.result?.fixes[0]?.candidate.edits[0]?.after)
  const audit = readFileSync(join(folder, '.retake/fix/audit.jsonl'), 'utf8')
  expect(JSON.parse(audit)).toMatchObject({ action: 'apply', by: 'policy' })
}, 900_000)
