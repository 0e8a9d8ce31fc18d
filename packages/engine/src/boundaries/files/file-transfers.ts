import fs from 'node:fs'
import { outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { performCall, startCall } from '../captured-call.js'
import type { Answer } from '../captured-call.js'
import { splitCallback } from './file-callbacks.js'
import { nativeFunction } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { noteOutput, passOutput } from './file-output.js'
import type { Transfer } from './file-transfer.js'
import { parseRead, parseReadv, parseWrite, parseWritev } from './file-transfer-arguments.js'
import type { ParseTransfer } from './file-transfer-arguments.js'
import { wrapFileFunction } from './file-wrapper.js'
import { replace, undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

const transfers: Readonly<Record<string, ParseTransfer>> = {
  read: parseRead,
  readv: parseReadv,
  write: parseWrite,
  writev: parseWritev,
}

/** Reads and writes on descriptors, the four functions and their synchronous twins. */
export function patchTransfers(): Undo {
  return undoAll(
    Object.entries(transfers).flatMap(([name, parse]) => [
      replace(fs, `${name}Sync`, syncTransfer(`${name}Sync`, parse)),
      replace(fs, name, callbackTransfer(name, parse)),
    ]),
  )
}

function syncTransfer(name: string, parse: ParseTransfer): FileFunction {
  const native = nativeFunction(name)
  const inside = (session: Session, [fd, ...rest]: unknown[]): unknown => {
    // The output boundary has seen a plain `writeSync(1, …)` before us.
    if (name === 'writeSync' && (fd === 1 || fd === 2)) return native(fd, ...rest)
    const transfer = parse(session, fd, rest)
    if (transfer.empty) return 0
    if (transfer.output) {
      noteOutput(session, transfer.output)
      return outsideRuns(() => transfer.runSync())
    }
    const call = { name: `fs.${name}`, ...transfer.call }
    return transfer.settle(performCall(session, call, () => transfer.runSync()))
  }
  return wrapFileFunction(native, inside, { name: name.replace(/Sync$/, ''), style: 'sync' })
}

function callbackTransfer(name: string, parse: ParseTransfer): FileFunction {
  const inside = (session: Session, [fd, ...given]: unknown[]): void => {
    const { args, callback } = splitCallback(given, 1)
    const transfer = parse(session, fd, args)
    const answer = callback as (error: unknown, count: number, passed: unknown) => void
    begin(session, `fs.${name}`, transfer, (error, value) => {
      if (error === null) answer(null, transfer.settle(value), transfer.passed)
      else answer(error, 0, transfer.passed)
    })
  }
  return wrapFileFunction(nativeFunction(name), inside, { name, style: 'callback' })
}

function begin(session: Session, name: string, transfer: Transfer, answer: Answer): void {
  const { output } = transfer
  if (transfer.empty) process.nextTick(answer, null, new Uint8Array(0))
  else if (output) passOutput(session, output, () => answer(null, output.bytes.length))
  else startCall(session, { name, ...transfer.call }, transfer.start, answer)
}

/** One read or write of a `FileHandle`: the number of bytes and what was passed. */
export async function promiseTransfer(
  session: Session,
  name: string,
  fd: number,
  rest: readonly unknown[],
): Promise<{ count: number; passed: unknown }> {
  const parse = transfers[name] ?? parseRead
  const transfer = parse(session, fd, rest)
  return new Promise((resolve, reject) => {
    begin(session, `FileHandle.${name}`, transfer, (error, value) => {
      if (error === null) resolve({ count: transfer.settle(value), passed: transfer.passed })
      else reject(error)
    })
  })
}
