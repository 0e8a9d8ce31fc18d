import { expect, test } from 'vitest'
import { requireNode } from './require-node.js'

test('Bun and Deno are refused by name, Node is not', () => {
  expect(() => requireNode()).not.toThrow()
  expect(() => requireNode({ ...process.versions, bun: '1.4.4' })).toThrow(/in Bun 1\.4\.4/)
  expect(() => requireNode({ ...process.versions, deno: '2.9.6' })).toThrow(/in Deno 2\.9\.6/)
})
