import { expect, test } from 'vitest'
import type { RunSource, SearchField, SearchHit, SearchProgress } from '../../model/run-source.js'
import { locationOfHit, NO_SEARCH, SearchStore } from './search-store.js'

const placeOf = (field: SearchField, path: string) =>
  locationOfHit({ step: '3', seq: 41, field, path, snippet: '', start: 0, length: 0 })

test.each([
  ['request', 'request.url', 'request'],
  ['request', 'request.body.order.id', 'request'],
  ['headers', 'request.headers.2', 'request'],
  ['headers', 'response.headers.0', 'response'],
  ['response', 'response.events.7', 'response'],
  ['response', 'response.body', 'response'],
  ['message', 'messages.3.parts.0.text', 'chat'],
  ['answer', 'answer.0.parts.1.args.city', 'chat'],
  ['args', 'args.city', 'call'],
  ['result', 'output.4', 'call'],
  ['error', 'error', 'error'],
  ['error', 'failure.cause.message', 'error'],
  ['scope', 'site', 'source'],
  ['state', 'frames.0.variables.2.json.items.1', 'state'],
] as const)('a hit of %s at %s opens there, in the tab %s', (field, path, tab) => {
  expect(placeOf(field, path)).toEqual({ field: path, tab })
})

test('output and files open at their event', () => {
  expect(placeOf('console', '')).toEqual({ field: 'console.41', tab: 'console' })
  expect(placeOf('file', '')).toEqual({ field: 'file.41', tab: 'files' })
})

test('a hit above the tabs does not change the tab', () => {
  expect(placeOf('title', 'title')).toEqual({ field: 'title' })
  expect(placeOf('scope', 'scopes.0')).toEqual({ field: 'scopes.0' })
})

test('the error that ended a run is in no field', () => {
  expect(placeOf('error', '')).toEqual({})
})

const hit = (step: string): SearchHit => ({
  step,
  seq: 1,
  field: 'title',
  path: '',
  snippet: 'x',
  start: 0,
  length: 1,
})

/** A source whose search says what it is told to, when it is told to. */
function scriptedSource() {
  const requested: { text: string; signal: AbortSignal; say: (message: SearchProgress) => void }[] =
    []
  const search = async function* (text: string, signal: AbortSignal) {
    const said: SearchProgress[] = []
    let wake = (): void => {}
    requested.push({ text, signal, say: (message) => (said.push(message), wake()) })
    for (;;) {
      const message = said.shift()
      if (message === undefined) await new Promise<void>((resolve) => (wake = resolve))
      else yield message
      if (message?.done === true) return
    }
  }
  return { source: { search } as unknown as RunSource, requested }
}

const progress = (steps: readonly string[], done = false): SearchProgress => ({
  hits: steps.map(hit),
  searched: 1,
  total: 2,
  done,
  cut: false,
})

test('hits are collected as they are found', async () => {
  const store = new SearchStore(NO_SEARCH)
  const { source, requested } = scriptedSource()
  const searching = store.start(source, 'x')
  requested[0]?.say(progress(['1', '2']))
  requested[0]?.say(progress(['3'], true))
  await searching
  expect(store.get().hits.map(({ step }) => step)).toEqual(['1', '2', '3'])
  expect(store.get().isDone).toBe(true)
})

test('a new search ends the previous one and gets none of its hits', async () => {
  const store = new SearchStore(NO_SEARCH)
  const { source, requested } = scriptedSource()
  const first = store.start(source, 'old')
  const second = store.start(source, 'new')
  expect(requested[0]?.signal.aborted).toBe(true)
  requested[0]?.say(progress(['old'], true))
  requested[1]?.say(progress(['new'], true))
  await Promise.all([first, second])
  expect(store.get().query).toBe('new')
  expect(store.get().hits.map(({ step }) => step)).toEqual(['new'])
})

test('a search that fails says why and keeps what it found', async () => {
  const store = new SearchStore(NO_SEARCH)
  const failing = {
    async *search() {
      yield progress(['1'])
      throw new Error('gone')
    },
  } as unknown as RunSource
  await store.start(failing, 'x')
  expect(store.get().hits).toHaveLength(1)
  expect(store.get().error).toEqual(new Error('gone'))
})
