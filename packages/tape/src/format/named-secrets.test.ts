import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { strengthOf } from './named-secrets.js'
import { redactText } from './redact-text.js'

test('names that were judged do not keep the bodies that they are from in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < 60; at++) {
    const filler = Buffer.alloc(1 << 20, `abc ${at} `).toString('latin1')
    const value = `aB3${at}dE6gH9jK2mN5pQ8sT1vW4`
    const body = `{"api_key_of_customer_${at}":"${value}","text":"${filler}"}`
    const start = body.indexOf('api')
    strengthOf(body.slice(start, body.indexOf('"', start)))
    redactText(body)
  }
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6)
})
