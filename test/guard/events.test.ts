import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'

interface Told {
  readonly status: string
  readonly code: string
  readonly rule: string
  readonly isCauseError: boolean
  readonly blocked: readonly string[]
}

let seen: {
  readonly listeners: Readonly<Record<'native' | 'shared' | 'own', readonly unknown[]>>
  readonly counts: readonly number[]
  readonly attempts: Readonly<Record<string, string>>
  readonly sockets: Readonly<Record<'refused' | 'failed', Told>>
}

beforeAll(async () => {
  const { folder, remove } = await makeWorkspace()
  const { stdout } = await promisify(execFile)(process.execPath, [
    agentPath('guard/events.mjs'),
    folder,
  ])
  seen = JSON.parse(stdout) as typeof seen
  return remove
})

test('listeners of a guarded tool are added, found, called and removed as those of others', () => {
  const { native, shared, own } = seen.listeners
  expect(native).toContain('a')
  expect(shared).toEqual(native)
  expect(own).toEqual(native)
})

test('an event target has a listener once, however many guarded calls add it', () => {
  expect(seen.counts).toEqual([2, 3, 3])
})

test('a listener goes on within the scopes of its call, and with nothing where that was given up', () => {
  expect(seen.attempts).toMatchObject({
    'inside/of-done': 'written',
    'outside-of-done': 'PATH_OUTSIDE_ROOT',
    'inside/of-stuck': 'GUARD_CALL_OVER',
  })
})

test('what others have waiting in a pool is not bound to the tool that gives back to it', () => {
  expect(seen.attempts['of-others']).toBe('written')
})

test('a WebSocket that was refused is a denial, one that failed by itself is not', () => {
  const blocked = ['ADDRESS_PRIVATE: Connecting to 127.0.0.1']
  expect(seen.sockets.refused).toEqual({
    status: 'denied',
    code: 'ADDRESS_PRIVATE',
    rule: 'sandbox/network',
    isCauseError: false,
    blocked,
  })
  expect(seen.sockets.failed).toMatchObject({
    status: 'failed',
    code: 'GUARD_TOOL_THREW_NO_ERROR',
    isCauseError: true,
    blocked,
  })
})
