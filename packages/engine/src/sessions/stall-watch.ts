import { natives } from '../natives.js'

/**
 * Notices when a replay makes no progress: a program that waits for something the
 * tape will never deliver would otherwise hang for ever.
 */
export function watchForStall(options: {
  readonly stallMs: number
  /** Keeps the process alive while it watches. */
  readonly keepAlive: boolean
  /** A number that changes while there is progress; undefined while waiting is legitimate. */
  readonly progress: () => number | undefined
  readonly onStall: () => void
}): { stop(): void } {
  let seen: number | undefined
  const timer = natives.setInterval(() => {
    const progress = options.progress()
    if (progress === undefined || progress !== seen) {
      seen = progress
      return
    }
    natives.clearInterval(timer)
    options.onStall()
  }, options.stallMs / 2)
  if (!options.keepAlive) timer.unref()
  return { stop: () => natives.clearInterval(timer) }
}
