import { join } from 'node:path'
import { root, runCommand } from './run-command.mjs'

/** Builds the packages. Tests of an old build would prove nothing. */
export async function buildOrGiveUp() {
  const build = await runCommand(join(root, 'node_modules/.bin/tsc'), ['-b'])
  if (!build.ok) giveUp(build.output)
  const viewer = await runCommand(process.execPath, ['packages/web/build.mjs'])
  if (!viewer.ok) giveUp(viewer.output)
}

/**
 * Ends the script when something it needs cannot be had: that is a failure, never a success.
 *
 * @param {string} why
 */
export function giveUp(why) {
  console.log(why)
  console.log('0 passed, 1 failed')
  process.exit(1)
}
