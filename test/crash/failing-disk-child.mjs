/**
 * Appends until the disk fails and tells how the writer took it.
 * `node failing-disk-child.mjs <full | sync> <path>`: `full` expects to run
 * under a file size limit, `sync` makes every fdatasync fail.
 */
import fs from 'node:fs'
import { crashRun } from './crash-events.mjs'

const [mode, path] = process.argv.slice(2)
let syncCalls = 0
if (mode === 'sync') {
  fs.fdatasyncSync = () => {
    syncCalls++
    throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
  }
}
const { TapeWriter } = await import('@retake/tape/node')

const attempt = (action) => {
  try {
    return action()
  } catch (error) {
    return error
  }
}

const writer = TapeWriter.create(path, crashRun, {})
const output = { type: 'output', stream: 'stdout' }
let promised = 0
let error
while (!(error instanceof Error)) {
  const seq = attempt(() => writer.append(output, Buffer.alloc(mode === 'full' ? 90_000 : 100, 97)))
  if (typeof seq === 'number') promised = seq
  error = mode === 'full' ? seq : attempt(() => writer.barrier())
}
const later = [
  attempt(() => writer.append(output)),
  attempt(() => writer.barrier()),
  attempt(() => writer.seal()),
]
console.log(
  JSON.stringify({
    promised,
    code: error.code,
    cause: error.cause?.code,
    message: error.message,
    sameAfter: later.map((found) => found === error),
    syncCalls,
  }),
)
