import { TapeError } from '@retake/tape/format'
import type { TapeWriter } from '@retake/tape/node'
import { RetakeError } from '../errors.js'
import { natives } from '../natives.js'
import { exitNow } from './process-exit.js'
import { writeJson } from './write-json.js'

const FAILED = 1

/**
 * Ends this process because Retake cannot do its work: anything the agent does from here on would
 * be missing from the tape. No exit listener of the agent runs.
 */
export function stopWith(error: unknown, file: string | undefined): never {
  const known = error instanceof TapeError || error instanceof RetakeError
  if (file === undefined || !known) throw error
  const { code, what, why, fix } = error
  try {
    writeJson(file, { code, what, why, fix })
  } catch {
    natives.stderrWrite(Buffer.from(`${what} ${why} ${fix} (${code})\n`))
  }
  return exitNow(FAILED)
}

/** A tape that can no longer be written stops the agent immediately, however it handles errors. */
export function stopOnFailure(writer: TapeWriter, file: string | undefined): void {
  const append = writer.append.bind(writer)
  const buffer = writer.buffer.bind(writer)
  const barrier = writer.barrier.bind(writer)
  const whenDurable = writer.whenDurable.bind(writer)
  const seal = writer.seal.bind(writer)
  const flush = writer.flush.bind(writer)
  const guard = <T>(write: () => T): T => {
    try {
      return write()
    } catch (error) {
      return stopWith(error, file)
    }
  }
  writer.append = (event, body, json) => guard(() => append(event, body, json))
  writer.buffer = (event, body, json) => guard(() => buffer(event, body, json))
  writer.barrier = () => guard(barrier)
  writer.whenDurable = (then) =>
    guard(() =>
      whenDurable((failure) => (failure === undefined ? then() : stopWith(failure, file))),
    )
  writer.flush = () => guard(flush)
  writer.seal = (options) => guard(() => seal(options))
}
