import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { TASK_VARIABLE } from '@retake/engine/runs'

export const modelAgent = join(import.meta.dirname, 'model-agent.mjs')
const preload = import.meta.resolve('@retake/engine/preload')

/** Runs the agent as the command line does. */
export async function runModelAgent(args, task) {
  const env = { ...process.env, [TASK_VARIABLE]: JSON.stringify({ ...task, flagCount: 1 }) }
  const child = spawn(process.execPath, [`--import=${preload}`, modelAgent, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  const arrivals = []
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    arrivals.push(performance.now())
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the agent ended with ${code} (${task.mode})`)
  return { stdout, linesMs: arrivals.at(-1) - arrivals[0] }
}
