import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Starts a server of the tests in a process of its own, so that a test can stop
 * the outside world before it replays. The program prints one JSON line when it
 * is ready, and ends when its stdin closes: also when whoever started it is gone.
 * It may print one more line before it ends.
 *
 * @param {string} program
 * @param {readonly string[]} [args]
 * @returns {Promise<{ ready: any, stop: () => Promise<any> }>}
 *   `stop` ends it, and gives its last line if there was one.
 */
export async function startServerProcess(program, args = []) {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ready = await lines.next()
  if (ready.done) throw new Error(`${program} ended before it was ready`)
  let last
  return {
    ready: JSON.parse(ready.value),
    stop: () => {
      last ??= (async () => {
        const ended = once(child, 'close')
        child.stdin.end()
        const { done, value } = await lines.next()
        await ended
        return done ? undefined : JSON.parse(value)
      })()
      return last
    },
  }
}
