import { blankRow, rowAt, toColumns } from '@retake/tape/present'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RowStore } from '../run/data/row-store.js'
import { type PageCommand, GROUPS, keysOf } from './commands.js'
import { commandItems, fuzzyMatch, runItems, stepItems } from './palette-items.js'

const best = (query: string, texts: readonly string[]) =>
  texts
    .map((text) => ({ text, match: fuzzyMatch(query, text) }))
    .filter(({ match }) => match !== undefined)
    .toSorted((a, b) => (b.match?.score ?? 0) - (a.match?.score ?? 0))
    .map(({ text }) => text)

test('letters are found in their order, not necessarily together', () => {
  expect(fuzzyMatch('nxt', 'Next step')?.indexes).toEqual([0, 2, 3])
  expect(fuzzyMatch('tn', 'Next')).toBeUndefined()
})

test('every word has to be found, in any order', () => {
  expect(fuzzyMatch('step next', 'Next step')).toBeDefined()
  expect(fuzzyMatch('step third', 'Next step')).toBeUndefined()
})

test('the beginning of a word beats the middle of one, and that beats scattered letters', () => {
  expect(best('err', ['Mirror', 'The next error', 'Evening roar of rain'])).toEqual([
    'The next error',
    'Evening roar of rain',
  ])
  expect(best('or', ['Mirror', 'Next or last'])[0]).toBe('Next or last')
})

test('an empty query matches everything', () => {
  expect(fuzzyMatch('', 'anything')?.indexes).toEqual([])
})

const command = (id: string, title: string, more: Partial<PageCommand> = {}): PageCommand => ({
  id,
  title,
  group: 'Move',
  keys: [],
  run: () => {},
  ...more,
})
const noKeys = () => []

test('every command is found by its title', () => {
  const titles = fc.string({ minLength: 1 }).filter((title) => title.trim() !== '')
  const commands = fc.array(fc.record({ title: titles, group: fc.constantFrom(...GROUPS) }))
  fc.assert(
    fc.property(commands, (made) => {
      const all = made.map(({ title, group }, index) => command(`c${index}`, title, { group }))
      for (const { id, title } of all)
        expect(commandItems(title, all, noKeys).map((item) => item.id)).toContain(id)
      expect(commandItems('', all, noKeys)).toHaveLength(all.length)
    }),
  )
})

test('a command that cannot be done is shown with its reason, and found by other words', () => {
  const fork = command('fork', 'Fork here', { disabled: 'The program is gone', words: 'branch' })
  expect(commandItems('branch', [fork], noKeys)).toMatchObject([
    { id: 'fork', disabled: 'The program is gone' },
  ])
})

test('keys are those that the person chose', () => {
  const next = command('next', 'Next', { keys: ['j', 'ArrowDown'] })
  const settings = { singleKeys: true, changed: { other: ['x'] } }
  expect(keysOf(next, settings)).toEqual(['j', 'ArrowDown'])
  expect(keysOf(next, { ...settings, singleKeys: false })).toEqual(['ArrowDown'])
  expect(keysOf(next, { ...settings, changed: { next: ['w'] } })).toEqual(['w'])
  expect(keysOf(next, { ...settings, changed: { next: [] } })).toEqual([])
})

const columns = toColumns(
  ['lookup_order', 'search_policy', 'answer 1'].map((title, index) => ({
    ...blankRow({ label: String(index + 1) }),
    seq: index,
    title,
  })),
)
const rows = {
  length: 3,
  at: (index: number) => rowAt(columns, index),
  indexOf: (label: string) => columns.label.indexOf(label),
} as unknown as RowStore

test('a step is found by its number before all others, and by its title', () => {
  const idsOf = (query: string) => stepItems(query, rows, () => {}).items.map(({ id }) => id)
  expect(idsOf('1')).toEqual(['step 1', 'step 3'])
  expect(idsOf('polic')).toEqual(['step 2'])
  expect(idsOf('')).toEqual([])
})

test('runs that cannot be read are not offered', () => {
  const card = { name: 'a', startedAt: 0, durationMs: 0, steps: 0, status: 'done' as const }
  const runs = [
    { ...card, id: '1' },
    { id: '2', error: { code: 'X', what: 'x' } },
  ]
  expect(runItems('', runs, () => {}).map(({ id }) => id)).toEqual(['run 1'])
})
