import { afterAll, beforeAll, expect, test } from 'vitest'
import { cases } from './cases.mjs'
import { compareWithLists, missesTable } from './listed.mjs'
import { lookAlikes } from './look-alikes.mjs'
import { measure, type Measured } from './measure.mjs'
import { makeSearch } from './search.mjs'
import { startWorld } from './world.mjs'

let measured: Measured

beforeAll(async () => {
  const world = await startWorld()
  try {
    measured = await measure(world)
  } finally {
    world.stop()
  }
})

afterAll(() => {
  process.stdout.write(`${missesTable(measured)}\n`)
})

test('a value of the corpus is found in every encoding, and is not taken for another one', () => {
  const search = makeSearch(cases)
  for (const { id, secret } of cases) {
    const bytes = Buffer.from(secret)
    for (const text of [
      secret,
      `user:${secret}`,
      JSON.stringify({ secret }),
      encodeURIComponent(secret),
      bytes.toString('base64'),
      Buffer.from(`name=${secret};`).toString('base64'),
      bytes.toString('base64url'),
      bytes.toString('hex'),
    ])
      expect([...search(text)], text).toEqual([id])
  }
})

test('no value can be read and no look-alike is changed, except those that are listed', () => {
  // What is removable is right now: run `node test/secrets-corpus/run.mjs --update`.
  expect(compareWithLists(measured)).toEqual({ added: [], removable: [] })
})

test('programs get the real values while they are recorded', () => {
  expect(measured.wrong).toEqual([])
  expect(measured.checks).toBeGreaterThan(400)
})

test('the corpus has at least 320 values and 150 look-alikes, each with an id of its own', () => {
  const ids = [...cases, ...lookAlikes].map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(cases.length).toBeGreaterThanOrEqual(320)
  expect(lookAlikes.length).toBeGreaterThanOrEqual(150)
})
