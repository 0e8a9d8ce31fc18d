import { fileEffect } from '@retake/tape/format'
import { noteBoundary } from '../patching/note-boundary.js'
import { absolute, originalError, overlayCall, pathsOf } from '../../overlay/overlay-call.js'
import type { OverlayCall } from '../../overlay/overlay-call.js'
import { type Overlay, overlayOf } from '../../overlay/overlay.js'
import type { Session } from '../../kernel/session.js'
import type { CapturedAnswer } from '../patching/captured-call.js'
import { descriptorsOf } from './tape-descriptors.js'
import { nativeFs, type FileFunction } from './file-natives.js'

/**
 * A live call of `node:fs` in a run that may have descriptors from a tape, and an overlay. `native`
 * is the function, `name` its name without `Sync`.
 */
export function callLive(
  session: Session,
  name: string,
  native: FileFunction,
  given: readonly unknown[],
): unknown {
  if (isPlain(session)) return native(...given)
  if (name === 'open') descriptorsOf(session).settled(given)
  const args = withRealDescriptor(session, name, given)
  const overlay = overlayOf(session)
  const value =
    overlay === undefined
      ? native(...args)
      : callOnOverlay(session, overlay, args, name, native, true).value
  return name === 'open' ? descriptorsOf(session).adopt(value as number) : value
}

/** Like `callLive`, for a function with a callback. May also throw. */
export function startLive(
  session: Session,
  name: string,
  native: FileFunction,
  given: readonly unknown[],
  done: CapturedAnswer,
): void {
  if (isPlain(session)) return startNative(name, native, given, done)
  if (name === 'open') descriptorsOf(session).settled(given)
  const args = withRealDescriptor(session, name, given)
  const overlay = overlayOf(session)
  const finish: CapturedAnswer = (error, value) => {
    const isOpened = name === 'open' && (error === null || error === undefined)
    done(error, isOpened ? descriptorsOf(session).adopt(value as number) : value)
  }
  if (overlay === undefined) return startNative(name, native, args, finish)
  const made = callOnOverlay(session, overlay, args, name, nativeFs[`${name}Sync`])
  const { call } = made
  if ('value' in made) return finish(null, made.value)
  startNative(name, native, call.args, (error, value) => {
    if (error !== null && error !== undefined)
      finish(originalError(overlay, error, shownPaths(name, error, args), call.args))
    else finish(null, call.finish ? call.finish(value) : value)
  })
}

/** True if the run works directly on the disk. */
const isPlain = (session: Session): boolean =>
  session.overlay === undefined && !descriptorsOf(session).isNeeded

/** `exists` is the only function whose callback gets no error. */
function startNative(
  name: string,
  native: FileFunction,
  args: readonly unknown[],
  done: CapturedAnswer,
): void {
  if (name === 'exists') native(...args, (there: unknown) => done(null, there))
  else native(...args, done)
}

function withRealDescriptor(
  session: Session,
  name: string,
  args: readonly unknown[],
): readonly unknown[] {
  const descriptors = descriptorsOf(session)
  if (name === 'rename' || fileEffect(name) === 'remove') {
    const overlay = overlayOf(session)
    const paths = pathsOf(name, args)
    descriptors.openBelow(paths.map((filePath) => overlay?.resolve(filePath, false) ?? filePath))
  }
  const [fd, ...rest] = args
  if (typeof fd !== 'number') return args
  return [name === 'close' ? descriptors.close(fd) : descriptors.real(fd), ...rest]
}

interface Made {
  readonly call: OverlayCall
  readonly value?: unknown
}

/**
 * Makes a call that changes the overlay synchronously, even for an asynchronous function, so that
 * no other call sees a half-finished change. A call that only reads is left to the caller, unless
 * `always`.
 */
function callOnOverlay(
  session: Session,
  overlay: Overlay,
  args: readonly unknown[],
  name: string,
  sync: FileFunction | undefined,
  always = false,
): Made {
  let used = args
  try {
    return overlay.change(() => {
      const isByPath = typeof args[0] !== 'number'
      const call = (isByPath && overlayCall(overlay, name, args)) || { args }
      if (isByPath)
        for (const filePath of pathsOf(name, args)) noteLater(session, overlay, name, filePath)
      used = call.args
      if (call.answer) return { call, value: call.answer() }
      if (sync === undefined || (call.changes !== true && !always)) return { call }
      const value = sync(...call.args)
      return { call, value: call.finish ? call.finish(value) : value }
    })
  } catch (error) {
    throw originalError(overlay, error, shownPaths(name, error, args), used)
  }
}

/** The paths shown in an error: as the agent gave them, except for `realpath`, which Node computes itself. */
const shownPaths = (name: string, error: unknown, args: readonly unknown[]): readonly unknown[] =>
  name === 'realpath' && (error as NodeJS.ErrnoException).syscall === 'lstat'
    ? [absolute(args[0])]
    : args

function noteLater(session: Session, overlay: Overlay, name: string, filePath: string): void {
  const { later } = overlay
  if (later.size === 0) return
  const resolved = overlay.resolve(filePath)
  if (!later.has(resolved) || overlay.locate(resolved).in !== 'disk') return
  noteBoundary(session, {
    name: `fs.${name} ${filePath}`,
    text: 'the parent run wrote this file after the branch point; the branch sees its current content',
  })
}
