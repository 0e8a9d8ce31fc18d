import { outsideRuns } from '@retake/engine/hook'

/** Something that must not outlive the process: a lock, a tape that is held in memory. */
interface Held {
  release(): void
}

const held = new Set<Held>()

/** Lets go of it when the process exits, if nobody did before. */
export function releaseAtExit(one: Held): void {
  if (held.size === 0) outsideRuns(() => process.on('exit', releaseAll))
  held.add(one)
}

export function released(one: Held): void {
  if (held.delete(one) && held.size === 0) process.off('exit', releaseAll)
}

function releaseAll(): void {
  for (const one of held) {
    try {
      one.release()
    } catch {
      // The process is about to end: what is on the tape is what there is.
    }
  }
}
