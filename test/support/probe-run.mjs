/**
 * Looks into a replay at many places, steps about and evaluates, lets it run to its
 * end, and prints what it came to. Started as a program: `node probe-run.mjs <tape>`.
 */
import { openTape } from '@retake/tape/node'
import { probeAgent } from '../../packages/runner/dist/debug/probe-agent.js'

const tape = openTape(process.argv[2] ?? '')
const looks = 20
const probe = await probeAgent(tape)
let stops = 0

/** Number of the first event that the probe has not passed yet. */
const position = () => probe.position.position ?? probe.position.seq

async function lookAt(seq) {
  // With the debugger kept and without: both ways must leave the run alone.
  const held = await probe.runTo(seq, { staysAttached: seq % 2 === 0 })
  if (held.kind === 'ended') return
  const stop = await probe.stopAtUserCode()
  if (stop.kind === 'ended') return
  stops += 1
  await probe.evaluate('globalThis')
  for (const step of ['stepOver', 'stepInto', 'stepOut'])
    if (probe.position.kind === 'stop') await probe[step]()
}

for (let look = 1; look <= looks && probe.position.kind !== 'ended'; look++) {
  const seq = Math.floor((look * tape.count) / (looks + 1))
  if (seq >= position()) await lookAt(seq)
}
if (probe.position.kind !== 'ended') await probe.resume()
const { exitCode, report } = probe.position
console.log(JSON.stringify({ stops, exitCode, divergences: report?.divergences }))
await probe.close()
