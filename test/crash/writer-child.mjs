/**
 * Appends to a tape until it is killed, and says on stdout which events it
 * was promised to keep. `node writer-child.mjs <mode> <path> <seed>`:
 *
 * - append: promised when `append` returns
 * - barrier: promised when `barrier` returns
 * - process: like barrier, with durability process, which never syncs
 * - reopen: like append, on a tape that may have been killed before
 * - unsafe: a writer with a bug: it promises what is only on its way to the file
 */
import { createWriteStream, existsSync, writeSync } from 'node:fs'
import { nodePlatform, TapeWriter } from '@retake/tape/node'
import { RecordEncoder } from '../../packages/tape/dist/format/record-encoder.js'
import { crashEvent, crashRun } from './crash-events.mjs'

const [mode, path, seed] = process.argv.slice(2)
/** Events after which it only waits to be killed. */
const limit = mode === 'reopen' ? 100 : 400

/** Stdout is a pipe that does not block; a promise must be out before the next event. */
function promise(seq) {
  for (;;) {
    try {
      return writeSync(1, `${seq}\n`)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

function unsafeWriter() {
  const encoder = new RecordEncoder(nodePlatform)
  const stream = createWriteStream(path)
  const append = (event, body) => {
    const { seq } = encoder
    encoder.encode(event, seq, body)
    for (const piece of encoder.take()) stream.write(Buffer.from(piece))
    return seq
  }
  append({ ...crashRun, format: 1 }, Buffer.from('{}'))
  return { append, barrier: () => {}, count: 1 }
}

function safeWriter() {
  if (mode === 'reopen' && existsSync(path)) return TapeWriter.reopen(path)
  return TapeWriter.create(
    path,
    { ...crashRun, ...(mode === 'process' && { durability: mode }) },
    {},
  )
}

const writer = mode === 'unsafe' ? unsafeWriter() : safeWriter()
let next = writer.count
const end = next + limit
setImmediate(function burst() {
  for (let i = 0; i < 10; i++) {
    const { event, body } = crashEvent(seed, next)
    const seq = writer.append(event, body)
    if (seq !== next) throw new Error(`event ${next} got number ${seq}`)
    next++
    if (mode === 'barrier' || mode === 'process') writer.barrier()
    promise(seq)
  }
  if (next < end) setImmediate(burst)
  else setInterval(() => {}, 1000)
})
