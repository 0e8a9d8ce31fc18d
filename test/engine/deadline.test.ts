import { Deadline } from '@retake/tape/format'
import { EventEmitter, getEventListeners, once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'

test('a deadline ends every wait, although nothing else refers to it and memory is collected', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const request = new AbortController()
  const news = new EventEmitter().setMaxListeners(0)
  let ended = 0
  for (let count = 0; count < 50; count++)
    void once(news, 'job', {
      signal: new Deadline({ ms: 100, signals: [request.signal] }).signal,
    }).catch(() => ended++)
  for (let count = 0; count < 5; count++) {
    collect()
    await pause(10)
  }
  await expect.poll(() => ended, { timeout: 5000 }).toBe(50)
  // One for all, so that Node does not warn about a leak.
  expect(getEventListeners(request.signal, 'abort')).toHaveLength(1)
})
