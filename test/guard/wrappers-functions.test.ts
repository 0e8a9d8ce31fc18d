import { GuardError, record, replay } from 'retake'
import { expect, expectTypeOf, test } from 'vitest'
import { gate, stepsOf, tempFolder } from './wrappers-setup.js'

test('a plain function is guarded under its own name', async () => {
  const run = gate()
  const started: string[] = []
  function look(at: string, times: number): string {
    started.push(at)
    return at.repeat(times)
  }
  function wipe(): void {
    started.push('wipe')
  }
  const guarded = { look: run.wrap(look), wipe: run.wrap(wipe) }
  expectTypeOf(guarded.look).toEqualTypeOf<(at: string, times: number) => Promise<string>>()
  expect(await guarded.look('ab', 2)).toBe('abab')
  await expect(guarded.wipe()).rejects.toThrow(GuardError)
  expect(started).toEqual(['ab'])
})

test('one argument is judged unchanged, several as a list, and a list stays one argument', async () => {
  const run = gate()
  const one = run.wrap((args: { a: number }) => args.a, { name: 'one' })
  const list = run.wrap((args: readonly number[]) => args.length, { name: 'list' })
  const none = run.wrap(() => 'none', { name: 'none' })
  expect([await one({ a: 1 }), await list([1, 2, 3]), await none()]).toEqual([1, 3, 'none'])
  const input = { type: 'object', properties: { a: { type: 'number' } } }
  const checked = run.wrap((args: { a: number }) => args.a, { name: 'checked', input })
  await expect(checked({ a: 'x' as never })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
})

test('a function that throws undefined has failed, too', async () => {
  const empty = gate().wrap(() => Promise.reject(undefined), { name: 'empty' })
  const ended = await empty().then(
    () => 'returned',
    () => 'threw',
  )
  expect(ended).toBe('threw')
})

test('a function without a name is refused', () => {
  expect(() =>
    gate().wrap(
      (
        () => () =>
          1
      )(),
    ),
  ).toThrow(expect.objectContaining({ code: 'GUARD_FUNCTION_WITHOUT_NAME' }))
})

test('a guarded function is one step of a recording and does not run on replay', async () => {
  const dir = tempFolder()
  let started = 0
  const agent = async () => {
    const look = gate({ dir }).wrap((at: string) => `${at} ${(started += 1)}`, { name: 'look' })
    return [await look('a'), await look('a')]
  }
  const { output, run } = await record({ name: 'agent', dir }, agent)
  expect(output).toEqual(['a 1', 'a 2'])
  expect(stepsOf(run.path)).toHaveLength(2)
  expect(await replay(run.path, agent)).toEqual(
    expect.objectContaining({ output, divergences: [] }),
  )
  expect(started).toBe(2)
})
