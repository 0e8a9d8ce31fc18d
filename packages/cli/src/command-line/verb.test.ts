import { expect, test } from 'vitest'
import { ownArguments, parseVerb } from '@retake/runner/command-line'
import fork from '../verbs/fork.js'
import record from '../verbs/record.js'
import rerun from '../verbs/rerun.js'

test('an option with one value refuses a second one instead of dropping the first', () => {
  expect(() => parseVerb('rerun', rerun, ['last', '--dir', 'a', '--dir', 'b'])).toThrow(
    expect.objectContaining({ code: 'WRONG_USAGE', what: '--dir is given twice.' }),
  )
  const once = parseVerb('fork', fork, ['last', '--at', '2', '--set', 'a=1', '--set', 'b=2'])
  expect(once.options.values).toMatchObject({ at: ['2'], set: ['a=1', 'b=2'] })
})

test('a value that begins with a dash is refused with the form that works', () => {
  expect(() => parseVerb('record', record, ['--node-arg', '--import=tsx', 'a.ts'])).toThrow(
    expect.objectContaining({
      what: "Option '--node-arg' has no value.",
      why: 'The next word begins with a dash. If it is the value, write --node-arg=<value>.',
    }),
  )
})

test('changes belong to the --at before them, and those before the first to the first', () => {
  const args = ['--set', 'a=1', '--at', '2', '--set', 'b=2', '--at', '4', '--status', '500']
  const { options } = parseVerb('fork', fork, ['last', ...args])
  const groups = options.groups('at', { set: 'many', status: 'one' })
  expect(groups.map(({ values }) => values)).toEqual([
    { at: '2', set: ['a=1', 'b=2'] },
    { at: '4', status: '500' },
  ])
})

test.each([
  [['--set', 'a.b=1', '--set', 'a.b=2'], '--set changes a.b twice.'],
  [['--request', 'model="x"', '--request', 'model="y"'], '--request changes model twice.'],
  [['--status', '500', '--status', '501'], '--status is given twice.'],
  [['--edit', '--response', 'a.json'], '--edit takes one step, without --response.'],
])('fork refuses %j: only one of the two edits could be made', async (args, what) => {
  const { options, positionals } = parseVerb('fork', fork, ['last', '--at', '2', ...args])
  await expect(fork.run(options, positionals)).rejects.toMatchObject({ code: 'WRONG_USAGE', what })
})

test.each([
  [['--json'], ['--json']],
  [
    ['--name', 'x', '--json'],
    ['--name', 'x', '--json'],
  ],
  [['--json', 'agent.mjs', '--json'], ['--json']],
  [['--', 'python', 'agent.py', '--json'], []],
])('of record %j, %j belongs to Retake, and the rest to the agent', (args, own) => {
  expect(ownArguments(record, args)).toEqual(own)
})
