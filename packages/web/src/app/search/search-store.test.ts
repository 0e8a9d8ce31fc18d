import { expect, test } from 'vitest'
import type { SearchHit, SearchProgress } from '../../model/run-source.js'
import type { RunSource } from '../../model/run-source.js'
import { SearchStore } from './search-store.js'

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

test('hits come together as they are found', async () => {
  const store = new SearchStore()
  const { source, requested } = scriptedSource()
  const searching = store.start(source, 'x')
  requested[0]?.say(progress(['1', '2']))
  requested[0]?.say(progress(['3'], true))
  await searching
  expect(store.get().hits.map(({ step }) => step)).toEqual(['1', '2', '3'])
  expect(store.get().isDone).toBe(true)
})

test('a new search ends the one before, and hears nothing of it', async () => {
  const store = new SearchStore()
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
  const store = new SearchStore()
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
