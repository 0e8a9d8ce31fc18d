import { describe, expect, test } from 'vitest'
import { lossesOf, type RunBehaviour } from './losses.js'

const run = (stdout: string, more: Partial<RunBehaviour> = {}): RunBehaviour => ({
  stdout,
  end: 'exit code 0',
  isThrown: false,
  actions: [],
  ...more,
})
const codes = (failed: RunBehaviour, changed: RunBehaviour): string[] =>
  lossesOf(failed, changed).map(({ code }) => code)
const action = (kind: string, sent = '') => ({ label: '1', kind, title: kind, sent })

describe('a run that prints', () => {
  test.each([
    ['undefined', 'until undefined'],
    ['NaN', 'Total: NaN'],
    ['[object Object]', 'Order [object Object]'],
    ['[object Promise]', 'Price [object Promise]'],
    ['null', 'Total: null'],
    ['Invalid Date', 'on Invalid Date'],
  ])('%s loses a value', (value, line) => {
    expect(lossesOf(run(''), run(`hello\n${line}\n`))).toEqual([
      { code: 'EMPTY_PRINTED', value, line },
    ])
  })

  test('JSON with null, or what the failed run printed too, loses nothing', () => {
    expect(codes(run(''), run('{ "next": null }\n'))).toEqual([])
    expect(codes(run('note: undefined\n'), run('note: undefined\n12\n'))).toEqual([])
  })

  test('another result in place of a wrong one loses nothing', () => {
    expect(codes(run('start\nTotal: 12\n'), run('start\nTotal: 15\n'))).toEqual([])
    expect(codes(run('PAID\n'), run('DENIED\n'))).toEqual([])
  })

  test('the rest of a line that was cut off loses nothing', () => {
    expect(codes(run('list\n- flour\n- ingr\n'), run('list\n- flour\n- ingredient'))).toEqual([])
    const cut = run('- item no 1\n- item\n2 items\n')
    expect(codes(cut, run('- item no 1\n- item no 2\n2 items\n'))).toEqual([])
    expect(codes(cut, run('- item no 1\n1 items\n'))).toEqual(['OUTPUT_MISSING'])
  })

  test('less than before loses output', () => {
    expect(lossesOf(run('start\nTotal: 12\n'), run('start\n'))).toEqual([
      { code: 'OUTPUT_MISSING', line: 'Total: 12' },
    ])
  })

  test('something else where the failed run had not failed yet loses output', () => {
    const thrown = run('found 3 items\n', { isThrown: true })
    expect(codes(thrown, run('found 3 items\nbought\n'))).toEqual([])
    expect(codes(thrown, run('nothing to do\nbought\n'))).toEqual(['OUTPUT_MISSING'])
  })
})

describe('a run that sends', () => {
  test('an empty value loses data', () => {
    const failed = run('', { actions: [action('model', 'Answer with this: {}')] })
    const changed = run('', { actions: [action('model', 'Answer with this: undefined')] })
    expect(codes(failed, changed)).toEqual(['EMPTY_SENT'])
  })

  test('nothing to a service any more loses an action', () => {
    const failed = run('', { actions: [action('model'), action('tool refund')] })
    expect(codes(failed, run('', { actions: [action('model')] }))).toEqual(['ACTION_MISSING'])
  })

  test('fewer of the same actions loses nothing: repetitions may be the fault', () => {
    const failed = run('', { actions: [action('tool pay'), action('tool pay')] })
    expect(codes(failed, run('', { actions: [action('tool pay')] }))).toEqual([])
  })
})
