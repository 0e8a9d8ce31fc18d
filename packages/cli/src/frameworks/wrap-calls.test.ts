import { expect, test } from 'vitest'
import { wrapCalls } from './adapter.js'

class Counter {
  #count = 0
  add(by: number) {
    this.#count += by
    return this.#count
  }
}

test('a wrapped call has its object, its arguments and its answer', () => {
  const said: string[] = []
  const counter = new Counter()
  wrapCalls(counter, ['add', 'missing'], (call) => {
    said.push('before')
    const answer = call()
    said.push('after')
    return answer
  })
  expect([counter.add(2), counter.add(3)]).toEqual([2, 5])
  expect(said).toEqual(['before', 'after', 'before', 'after'])
  expect('missing' in counter).toBe(false)
  expect(new Counter().add(1)).toBe(1)
  expect(said).toHaveLength(4)
})

test('methods that are properties of the object are wrapped, and none twice', () => {
  let times = 0
  const agent = { generate: () => 'text' }
  const around = (call: () => unknown) => {
    times += 1
    return call()
  }
  wrapCalls(agent, ['generate'], around)
  wrapCalls(agent, ['generate'], around)
  expect([agent.generate(), times]).toEqual(['text', 1])
})
