/**
 * A preload that counts every way out of a process, so that "no socket was
 * opened" is proved by something that is not Retake:
 *
 *     node --import 'file:///…/no-network.mjs?report=/tmp/counts.json' agent.mjs
 *
 * It listens to the creation of the native handles themselves, below anything
 * JavaScript could patch. At exit it writes the counts as JSON, by kind, to the
 * file named in the address or in RETAKE_TEST_REPORT; only kinds that occurred
 * are listed.
 */
import { createHook } from 'node:async_hooks'
import fs from 'node:fs'

/** Names Node gives its handles and requests that reach another process: not an idle socket, but its connecting. */
const waysOut = new Set([
  'TCPCONNECTWRAP',
  'TCPSERVERWRAP',
  'UDPWRAP',
  'UDPSENDWRAP',
  'PIPECONNECTWRAP',
  'PIPESERVERWRAP',
  'GETADDRINFOREQWRAP',
  'GETNAMEINFOREQWRAP',
  'QUERYWRAP',
  'HTTP2SESSION',
])

/** @type {Record<string, number>} */
const counts = {}
const count = (kind) => {
  counts[kind] = (counts[kind] ?? 0) + 1
}

createHook({
  init(_id, type) {
    if (waysOut.has(type)) count(type)
  },
  // Promises are of no interest here; Node 24 can leave them out.
  trackPromises: false,
}).enable()

// A ChildProcess has a handle before it starts anything, and spawnSync has none
// that a hook could see: both are counted where they start a process.
try {
  countCalls(process.binding('process_wrap').Process.prototype, 'SPAWN')
  countCalls(process.binding('spawn_sync'), 'SPAWNSYNC')
} catch (error) {
  // Under Node's permission model nobody gets at these, and no process can be started.
  if (error.code !== 'ERR_ACCESS_DENIED') throw error
}

function countCalls(target, kind) {
  const { spawn } = target
  target.spawn = function countedSpawn(...args) {
    count(kind)
    return Reflect.apply(spawn, this, args)
  }
}

// Copies: named imports would follow a later patch.
const { openSync, writeSync } = fs
const report = new URL(import.meta.url).searchParams.get('report') ?? process.env.RETAKE_TEST_REPORT
// Opened now and written through today's functions: whatever is patched later
// does not matter.
const descriptor = report ? openSync(report, 'w') : undefined
process.on('exit', () => {
  if (descriptor !== undefined) writeSync(descriptor, JSON.stringify(counts))
})
