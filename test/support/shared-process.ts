import { afterAll } from 'vitest'

/** `fetch` before the first test file of this process. */
const shared = globalThis as { nativeFetch?: typeof fetch }
shared.nativeFetch ??= fetch

// Test files share this process, so none of them may change it for the next one.
afterAll(() => {
  if (fetch !== shared.nativeFetch)
    throw new Error('This file uses Retake in its own process. Add it to isolatedTests.')
})
