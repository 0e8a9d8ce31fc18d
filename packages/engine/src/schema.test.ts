import { expect, expectTypeOf, test } from 'vitest'
import {
  atLeast,
  DataCheck,
  flag,
  listWith,
  objectOf,
  oneWord,
  oneOrMore,
  problemText,
  recordWith,
  required,
  type DataSchema,
  nonEmptyText,
  type TypeOfFields,
  whole,
} from './schema.js'

const FIELDS = {
  name: required(nonEmptyText('A name'), 'It has no name.'),
  mode: oneWord('fast', 'safe'),
  tags: oneOrMore(nonEmptyText()),
  limits: objectOf({ calls: whole(1, 5), cost: atLeast(0) }, 'Limits'),
  steps: listWith(objectOf({ isLast: flag })),
  byTool: recordWith(whole(0)),
}

const problemsIn = (
  data: unknown,
  schema: DataSchema<unknown> = objectOf(FIELDS, 'A plan'),
): string[] => {
  const check = new DataCheck()
  schema(check, [], data)
  return check.problems.map(problemText)
}

test('the type follows from the schema: only required fields must be there', () => {
  type Plan = TypeOfFields<typeof FIELDS>
  expectTypeOf<Plan['mode']>().toEqualTypeOf<'fast' | 'safe' | undefined>()
  expectTypeOf<Plan['tags']>().toEqualTypeOf<string | readonly string[] | undefined>()
  expectTypeOf<Plan['byTool']>().toEqualTypeOf<Readonly<Record<string, number>> | undefined>()
  expectTypeOf<{ name: string }>().toExtend<Plan>()
  // @ts-expect-error The name is required.
  const unnamed: Plan = { mode: 'fast' }
  expect(unnamed).toBeDefined()
  expectTypeOf<Plan['name']>().toEqualTypeOf<string>()
})

test('valid data has no problems', () => {
  expect(
    problemsIn({
      name: 'x',
      mode: 'safe',
      tags: ['a', 'b'],
      limits: { calls: 5, cost: 0.5 },
      steps: [{ isLast: true }, {}],
      byTool: { search: 0 },
    }),
  ).toEqual([])
  expect(problemsIn({ name: 'x', tags: 'a', mode: undefined })).toEqual([])
})

test('all problems are reported with their paths', () => {
  expect(
    problemsIn({
      moed: 'safe',
      mode: 'saef',
      tags: [],
      limits: { calls: 1.5, cost: -1 },
      steps: [{}, { isLast: 'yes' }],
      byTool: { 'a b': -1 },
    }),
  ).toEqual([
    'moed: Unknown key "moed". Did you mean mode?',
    'It has no name.',
    'mode: It cannot be "saef". Did you mean safe?',
    'tags: The list is empty.',
    'limits.calls: It must be a whole number from 1 to 5, not 1.5.',
    'limits.cost: It must be at least 0, not -1.',
    'steps[1].isLast: It must be true or false, not a string.',
    'byTool["a b"]: It must be a whole number from 0 on, not -1.',
  ])
})

test.each([
  [null, 'A plan must be an object, not null.'],
  [[], 'A plan must be an object, not a list.'],
  [{ name: ' ' }, 'name: A name is empty.'],
  [{ name: 'x', limits: { calls: Number.NaN } }, 'limits.calls: It must be a number, not NaN.'],
  [{ name: 'x', steps: {} }, 'steps: It must be a list, not an object.'],
])('%j: %s', (data, problem) => {
  expect(problemsIn(data)).toEqual([problem])
})

test('a wrong value is shown only if the caller says how', () => {
  const check = new DataCheck((value) => JSON.stringify(value))
  flag(check, ['a'], 'hunter2')
  expect(check.problems.map(problemText)).toEqual(['a: It must be true or false, not "hunter2".'])
  expect(problemsIn('hunter2', flag)).toEqual(['It must be true or false, not a string.'])
})
