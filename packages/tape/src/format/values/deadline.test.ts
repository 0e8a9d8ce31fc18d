import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Deadline } from './deadline.js'

describe('a deadline', () => {
  test('aborts as AbortSignal.timeout does', async () => {
    const deadline = new Deadline({ ms: 1 })
    await once(deadline.signal, 'abort')
    expect(deadline.isPast).toBe(true)
    expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' })
  })

  test('aborts with the first of its signals, for the same reason', () => {
    const [first, second] = [new AbortController(), new AbortController()]
    using deadline = new Deadline({ ms: 60_000, signals: [undefined, first.signal, second.signal] })
    second.abort('second')
    first.abort('first')
    expect(deadline.signal.reason).toBe('second')
    expect(deadline.isPast).toBe(false)
    expect(new Deadline({ ms: 1, signals: [second.signal] }).signal.reason).toBe('second')
  })

  test('does not abort after it was released', async () => {
    const source = new AbortController()
    const deadline = new Deadline({ ms: 1, signals: [source.signal] })
    deadline.release()
    await pause(10)
    source.abort()
    expect(deadline.signal.aborted).toBe(false)
  })

  test('may be further away than a timer can wait', async () => {
    using deadline = new Deadline({ ms: 2 ** 33 })
    await pause(20)
    expect(deadline.signal.aborted).toBe(false)
  })
})
