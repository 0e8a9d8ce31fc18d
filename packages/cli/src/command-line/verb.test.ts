import { expect, test } from 'vitest'
import { Options, parseVerb } from './verb.js'
import fork from '../verbs/fork.js'

test('an option with one value refuses a second one instead of dropping the first', () => {
  const args = ['last', '--at', '2', '--set', 'a=1', '--at', '4', '--set', 'b=2']
  expect(() => parseVerb('fork', fork, args)).toThrow(
    expect.objectContaining({ code: 'WRONG_USAGE', what: '--at is given twice.' }),
  )
  const once = parseVerb('fork', fork, ['last', '--at', '2', '--set', 'a=1', '--set', 'b=2'])
  expect(once.options.values).toMatchObject({ at: '2', set: ['a=1', 'b=2'] })
})

test.each([
  [{ at: '2', set: ['a.b=1', 'a.b=2'] }, '--set changes a.b twice.'],
  [{ at: '2', request: ['model="x"', 'model="y"'] }, '--request changes model twice.'],
  [{ at: '2', edit: true, response: 'a.json' }, '--edit and --response exclude each other.'],
])('fork refuses %j: only one of the two edits could be made', async (values, what) => {
  await expect(fork.run(new Options(values), ['last'])).rejects.toMatchObject({
    code: 'WRONG_USAGE',
    what,
  })
})
