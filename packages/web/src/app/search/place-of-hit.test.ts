import { expect, test } from 'vitest'
import type { SearchField } from '../../model/run-source.js'
import { locationOfHit } from './search-store.js'

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
] as const)('a hit of %s at %s is looked at there, in the tab %s', (field, path, tab) => {
  expect(placeOf(field, path)).toEqual({ field: path, tab })
})

test('output and files are looked at by the event that tells of them', () => {
  expect(placeOf('console', '')).toEqual({ field: 'console.41', tab: 'console' })
  expect(placeOf('file', '')).toEqual({ field: 'file.41', tab: 'files' })
})

test('what stands above the tabs leaves the tab as it is', () => {
  expect(placeOf('title', 'title')).toEqual({ field: 'title' })
  expect(placeOf('scope', 'scopes.0')).toEqual({ field: 'scopes.0' })
})

test('the error that ended a run is in no field', () => {
  expect(placeOf('error', '')).toEqual({})
})
