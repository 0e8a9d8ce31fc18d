import { expect, test } from 'vitest'
import { stackFrames } from './text-parts.js'

test('frames of packages and of Node are told apart from the own ones', () => {
  const stack = `TypeError: no
second line of the message
    at fail (file:///app/agent.ts:3:7)
    at async Client.post (/app/node_modules/sdk/index.js:1:1)
    at node:internal/process/task_queues:95:5
    at C:\\app\\agent.ts:4:2
    at new Promise (<anonymous>)`
  expect(stackFrames(stack).map(({ site, isOwn }) => [site, isOwn])).toEqual([
    ['/app/agent.ts:3:7', true],
    ['/app/node_modules/sdk/index.js:1:1', false],
    [undefined, false],
    ['C:\\app\\agent.ts:4:2', true],
    [undefined, false],
  ])
})
