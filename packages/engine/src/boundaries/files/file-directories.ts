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
import { ListedDirectory } from './listed-directory.js'
import { plain } from '../result-form.js'
import type { ResultForm } from '../result-form.js'
import { replaceFileFunction } from './file-wrapper.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** `opendir` in its three forms. */
export function patchDirectories(): Undo {
  return undoAll([
    replaceFileFunction(fs, 'opendirSync', openSync, { name: 'opendir', style: 'sync' }),
    replaceFileFunction(fs, 'opendir', openWithCallback, { name: 'opendir', style: 'callback' }),
    replaceFileFunction(fs.promises, 'opendir', openPromise, { name: 'opendir', style: 'promise' }),
  ])
}

/** The real folder, or what the agent sees of it in an overlay, goes to the stand-in; the tape gets only the path it reports. */
const opened: ResultForm = {
  encode: (directory) => plain.encode((directory as fs.Dir).path),
  decode: (as, body) => ({ path: plain.decode(as, body) }),
}
const shape = takes('path options', opened)

function callOf(session: Session, label: string, args: readonly unknown[]): CapturedCall {
  checkArguments(shape, args, nativeFunction('opendirSync'))
  return fileCall(session, label, 'opendir', args, shape)
}

/** In an overlay a folder is the sum of two: its entries are listed at once. */
function open(session: Session, args: readonly unknown[]): unknown {
  return session.overlay === undefined
    ? nativeFunction('opendirSync')(...args)
    : new ListedDirectory(session, args)
}

function start(session: Session, args: readonly unknown[], done: Answer): void {
  if (session.overlay === undefined) return void nativeFunction('opendir')(...args, done)
  let directory: ListedDirectory
  try {
    directory = new ListedDirectory(session, args)
  } catch (error) {
    return done(error)
  }
  done(null, directory)
}

function openSync(session: Session, args: unknown[]): TapeDirectory {
  const call = callOf(session, 'fs.opendirSync', args)
  const directory = performCall(session, call, () => open(session, args))
  return new TapeDirectory(session, directory as fs.Dir, args)
}

function openWithCallback(session: Session, given: unknown[]): void {
  const { args, callback } = splitCallback(given, shape.required)
  const begin = (done: Answer): void => start(session, args, done)
  startCall(session, callOf(session, 'fs.opendir', args), begin, (error, value) => {
    if (error === null) callback(null, new TapeDirectory(session, value as fs.Dir, args))
    else callback(error)
  })
}

async function openPromise(session: Session, args: unknown[]): Promise<TapeDirectory> {
  const begin = (done: Answer): void => start(session, args, done)
  const call = callOf(session, 'fs.promises.opendir', args)
  return new TapeDirectory(session, (await promiseCall(session, call, begin)) as fs.Dir, args)
}
