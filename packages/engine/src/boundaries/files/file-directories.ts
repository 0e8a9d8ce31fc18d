import fs from 'node:fs'
import type { Session } from '../../sessions/session.js'
import { fileCall } from './file-arguments.js'
import { checkArguments } from './file-checks.js'
import { performCall, promiseCall, startCall } from '../captured-call.js'
import type { Answer, CapturedCall } from '../captured-call.js'
import { splitCallback } from './file-callbacks.js'
import { TapeDirectory } from './file-directory.js'
import { takes } from './file-functions.js'
import { nativeFunction } from './file-natives.js'
import { plain } from '../result-form.js'
import type { ResultForm } from '../result-form.js'
import { replaceFileFunction } from './file-wrapper.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** `opendir` in its three forms. */
export function patchDirectories(): Undo {
  return undoAll([
    replaceFileFunction(fs, 'opendirSync', openSync),
    replaceFileFunction(fs, 'opendir', openWithCallback),
    replaceFileFunction(fs.promises, 'opendir', openPromise),
  ])
}

/** The real folder goes to the stand-in; the tape gets only the path it reports. */
const opened: ResultForm = {
  encode: (directory) => plain.encode((directory as fs.Dir).path),
  decode: (as, body) => ({ path: plain.decode(as, body) }),
}
const shape = takes('path options', opened)

function callOf(session: Session, name: string, args: readonly unknown[]): CapturedCall {
  checkArguments(shape, args, nativeFunction('opendirSync'))
  return fileCall(session, name, shape, args)
}

function openSync(session: Session, args: unknown[]): TapeDirectory {
  const call = callOf(session, 'fs.opendirSync', args)
  const run = (): unknown => nativeFunction('opendirSync')(...args)
  return new TapeDirectory(session, performCall(session, call, run) as fs.Dir)
}

function openWithCallback(session: Session, given: unknown[]): void {
  const { args, callback } = splitCallback(given, shape.required)
  const start = (done: Answer): void => void nativeFunction('opendir')(...args, done)
  startCall(session, callOf(session, 'fs.opendir', args), start, (error, value) => {
    if (error === null) callback(null, new TapeDirectory(session, value as fs.Dir))
    else callback(error)
  })
}

async function openPromise(session: Session, args: unknown[]): Promise<TapeDirectory> {
  const start = (done: Answer): void => void nativeFunction('opendir')(...args, done)
  const call = callOf(session, 'fs.promises.opendir', args)
  return new TapeDirectory(session, (await promiseCall(session, call, start)) as fs.Dir)
}
