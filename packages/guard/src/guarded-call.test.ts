import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { guard } from './guard.js'

/** Looks like a key of a provider; made here, so that none is in the repository. */
const secretOf = (letter: string): string => ['sk', letter.repeat(12) + '4'.repeat(12)].join('-')

test('a secret in the key, the rule or the guard of a decision is not on the tape', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'retake-decision-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const [key, rule, name] = ['k', 'r', 'n'].map(secretOf)
  const policy = { name: 'p', rules: [{ id: `rule-${rule}`, allow: '*' }] }
  const run = guard({ name: `job-${name}`, dir, policy, durability: 'process' })
  run.tool('keyed', () => 1, { idempotencyKey: () => key ?? '' })
  run.tool('plain', () => 2)
  for (const tool of ['keyed', 'plain', 'plain'])
    expect((await run.call(tool, {})).status).toBe('done')
  const tape = readFileSync(run.end()?.path ?? '', 'latin1')
  const decisions = tape.split('\n').filter((line) => line.includes('"kind":"guard"'))
  expect(decisions).toHaveLength(3)
  for (const secret of [key, rule, name]) expect(decisions.join('\n')).not.toContain(secret)
  expect(decisions[1]).toContain('"call":2')
})
