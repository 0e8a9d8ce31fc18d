import { expect, test } from 'vitest'
import { maskUrl } from './headers.js'

test.each([
  ['https://a/b?alt=sse&key=AIza', 'https://a/b?alt=sse&key=retake-hidden'],
  ['https://a/b?API_KEY=1', 'https://a/b?API_KEY=retake-hidden'],
  ['https://a/?b=2&token=1', 'https://a/?b=2&token=retake-hidden'],
  ['https://a/b?%6bey=1', 'https://a/b?key=retake-hidden'],
  ['https://a/b?x=1?&sig=2', 'https://a/b?x=1%3F&sig=retake-hidden'],
  ['https://me:word@a/b', 'https://me:retake-hidden@a/b'],
  ['https://me:word@a/b?x=1', 'https://me:retake-hidden@a/b?x=1'],
])('keys in %s stay off the tape', (url, masked) => {
  expect(maskUrl(url)).toBe(masked)
})

test.each([
  'https://a/b',
  'https://a/b?alt=sse',
  'https://a/b?q=a%20b&keys=1',
  'https://a/?page=2',
])('%s is unchanged', (url) => expect(maskUrl(url)).toBe(url))
