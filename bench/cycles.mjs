import { startProvider } from '../test/support/loopback-provider.mjs'
import { makeWorkspace } from '../test/support/run-retake.mjs'

/**
 * A short version of test/engine/stress.test.ts: the agent that races most is
 * recorded, and its replay must print the same bytes.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const cycles = quick ? 1 : 5
  const provider = await startProvider()
  let identical = 0
  for (let cycle = 0; cycle < cycles; cycle++) if (await runCycle(provider)) identical += 1
  await provider.close()
  return [
    {
      name: 'record → replay cycles identical, of all, stress agent',
      ratio: identical / cycles,
      gate: { min: 1 },
      method: `${identical} of ${cycles} through the command line on Node ${process.version}; npm run test:nodes runs 100 on each Node`,
    },
  ]
}

async function runCycle(provider) {
  const workspace = await makeWorkspace()
  const recorded = await workspace.record('stress.mjs', { provider })
  const replayed = await workspace.replay()
  const isIdentical =
    recorded.code === 0 && replayed.code === 0 && recorded.stdout === replayed.stdout
  if (isIdentical) await workspace.remove()
  else console.error(`not identical; kept in ${workspace.folder}\n${replayed.stderr}`)
  return isIdentical
}
