import { outsideRuns } from '@retake/engine/hook'

/** Something that must not outlive the process: a lock, a tape that is buffered in memory. */
interface ExitResource {
  release(): void
}

const resources = new Set<ExitResource>()

/** Lets go of it when the process exits, if nobody did before. */
export function releaseAtExit(one: ExitResource): void {
  if (resources.size === 0) outsideRuns(() => process.on('exit', releaseAll))
  resources.add(one)
}

export function released(one: ExitResource): void {
  if (resources.delete(one) && resources.size === 0) process.off('exit', releaseAll)
}

function releaseAll(): void {
  for (const one of resources) {
    try {
      one.release()
    } catch {
      // The process is about to end: what is on the tape is what there is.
    }
  }
}
