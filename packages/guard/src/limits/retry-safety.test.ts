import { describe, expect, it } from 'vitest'
import { GuardError } from '../denials/guard-error.js'
import { limitErrors } from './limit-errors.js'
import { requestedPauseMs, retrySafety } from './retry-safety.js'

const coded = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more })
const failedFetch = (cause: unknown) => new TypeError('fetch failed', { cause })
const denial = new GuardError(limitErrors.LIMIT_CALLS('t', '', 1))

describe('whether an error is safe to retry', () => {
  it.each([
    [coded('ECONNREFUSED')],
    [failedFetch(coded('ECONNREFUSED'))],
    [Object.assign(new Error('Connection error.'), { cause: failedFetch(coded('ENOTFOUND')) })],
    [new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])],
    [coded('ECONNRESET', { syscall: 'connect' })],
    [coded('ETIMEDOUT', { syscall: 'connect' })],
    [coded('UND_ERR_CONNECT_TIMEOUT')],
    [Object.assign(new Error(), { status: 429 })],
    [coded('ERR_BAD_REQUEST', { response: { status: 429 } })],
    [new Response(null, { status: 429 })],
    [{ $metadata: { httpStatusCode: 429 } }],
  ])('%s proves that nothing happened', (error) => {
    expect(retrySafety(error)).toBe('nothing happened')
  })

  it.each([
    [coded('ECONNRESET')],
    [coded('ECONNRESET', { syscall: 'read' })],
    [coded('EPIPE', { syscall: 'write' })],
    [coded('EHOSTUNREACH', { syscall: 'read' })],
    [failedFetch(coded('UND_ERR_SOCKET'))],
    [new AggregateError([coded('ECONNREFUSED'), coded('ECONNRESET')])],
    [Object.assign(new Error(), { status: 503 })],
    [Object.assign(new Error(), { statusCode: 500 })],
    [coded('ERR_BAD_RESPONSE', { response: { status: 502 } })],
    [Object.assign(new Error(), { status: 529 })],
    [Object.assign(new Error(), { status: 408 })],
  ])('%s may have had its effect', (error) => {
    expect(retrySafety(error)).toBe('transient')
  })

  it.each([
    [new Error('no')],
    ['thrown text'],
    [undefined],
    [Object.assign(new Error(), { status: 400 })],
    [Object.assign(new Error(), { status: 409 })],
    [Object.assign(new Error(), { status: 501 })],
    [Object.assign(new Error(), { status: 429, headers: { 'X-Should-Retry': 'false' } })],
    [coded('ENOENT')],
    [Object.assign(new Error(), { name: 'AbortError', cause: coded('ECONNREFUSED') })],
    [denial],
    [failedFetch(denial)],
    [Object.assign(coded('ECONNREFUSED'), { cause: denial })],
    [new AggregateError([coded('ECONNREFUSED'), denial])],
  ])('%s is final', (error) => {
    expect(retrySafety(error)).toBe('final')
  })

  it('comes to an end with an error that is its own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(retrySafety(error)).toBe('final')
  })
})

describe('how long to wait', () => {
  const now = Date.UTC(2026, 10, 15, 12)
  const date = 'Sun, 15 Nov 2026 12:00:07 GMT'

  it.each([
    [{ headers: { 'retry-after': '3' } }, 3_000],
    [{ headers: { 'Retry-After': ['3'] } }, 3_000],
    [{ headers: new Headers({ 'retry-after': date }) }, 7_000],
    [{ headers: new Headers({ 'retry-after': '9', 'retry-after-ms': '250' }) }, 250],
    [{ response: { headers: { 'retry-after': '1.5' } } }, 1_500],
    [{ responseHeaders: { 'retry-after': '0' } }, 0],
    [{ cause: { response: new Response(null, { headers: { 'retry-after': '2' } }) } }, 2_000],
    [new Response(null, { status: 429, headers: { 'retry-after': '4' } }), 4_000],
    [{ retryAfter: 5 }, 5_000],
    [{ retryAfter: '5' }, 5_000],
    [{ retryAfter: new Date(now + 40) }, 40],
    [{ retryAfterMs: 40 }, 40],
    [{ headers: { 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' } }, 0],
    [{ headers: { 'retry-after': 'Sunday, 15-Nov-26 12:00:07 GMT' } }, 7_000],
    [{ headers: { 'retry-after': 'soon' } }, undefined],
    [{ headers: { 'retry-after': '-3' } }, undefined],
    [{ headers: { 'retry-after': 'May be 9' } }, undefined],
    [{ headers: null }, undefined],
    ['text', undefined],
  ])('%o asks for %s ms', (error, ms) => {
    expect(requestedPauseMs(error, now)).toBe(ms)
  })
})
