/**
 * Runs command lines of `retake` one after the other in this process, which saves the start of
 * a process for each. A message has a command line, its folder and its environment. When the
 * command is over, both streams get the end mark of the message, and the answer has the exit
 * code. For commands that do not end their process.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { main } from '../../packages/cli/bundle/main.js'

/** Each command listens to these. */
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0)

/** The folder between commands. */
const outside = process.cwd()

/** Time for a command to release what keeps a process alive, such as a file that is being closed. */
const EXIT_MS = 10_000

/** Resources that keep the process alive, except those in `before`. */
function activeSince(before) {
  const rest = [...before]
  return process.getActiveResourcesInfo().filter((resource) => {
    const at = rest.indexOf(resource)
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}

/** Throws if the process of a finished command would not exit. */
async function expectExit(before) {
  const deadline = Date.now() + EXIT_MS
  let active = activeSince(before)
  while (active.length > 0) {
    if (Date.now() > deadline) throw new Error(`the command would not exit: ${active.join(', ')}`)
    await sleep(2, undefined, { ref: false })
    active = activeSince(before)
  }
}

function useEnvironment(env) {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

async function runCommand({ args, cwd, env }) {
  process.chdir(cwd)
  useEnvironment(env)
  process.exitCode = undefined
  const before = process.getActiveResourcesInfo()
  try {
    await main(args)
    await expectExit(before)
    return { code: process.exitCode ?? 0 }
  } catch (error) {
    return { failed: error.stack }
  } finally {
    process.exitCode = 0
    // Tests look for processes that were left in a folder.
    process.chdir(outside)
  }
}

process.on('message', async ({ endMark, ...command }) => {
  const ended = await runCommand(command)
  for (const stream of [process.stdout, process.stderr]) stream.write(endMark)
  process.send(ended)
})

// A command that did not release everything must not outlive the tests.
process.on('disconnect', () => process.exit())
