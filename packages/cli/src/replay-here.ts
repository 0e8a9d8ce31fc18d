import type { Tape } from '@retake/tape'
import { movedHere } from './moved-here.js'
import { replayAgent } from './replay-agent.js'
import type { Replayed } from './replay-agent.js'

/** Replays a program silently, where it was recorded or, in another checkout, where it is now. */
export async function replayHere(tape: Tape): Promise<Replayed> {
  const root = movedHere(tape)
  const replayed = await replayAgent(tape, { stdio: 'ignore', ...(root && { root }) })
  if (root === undefined) return replayed
  // What is reported names the recorded folder; a place in the code is wanted as it is here.
  const divergences = replayed.divergences.map((divergence) =>
    divergence.site === undefined
      ? divergence
      : { ...divergence, site: divergence.site.replace(root.recorded, root.current) },
  )
  return { ...replayed, divergences }
}
