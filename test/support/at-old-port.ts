import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Starts a server at a port that a recorded run knows. It was free for a while, and the system
 * may have lent it to a connection of somebody else: then that is waited for.
 */
export async function atOldPort<T>(start: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + 60_000; ;) {
    try {
      return await start()
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!isTaken || performance.now() > deadline) throw error
      await sleep(50)
    }
  }
}
