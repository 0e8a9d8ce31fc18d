/**
 * One guarded call in a run that is resumed. `node guard-resume.mjs <folder> <mode>`:
 *
 * - kill: is killed after the call
 * - process: the same with `durability: 'process'`, while a second call runs
 * - exit: exits without ending the run
 * - end: ends it
 * - hold: says what became of it, and holds the run until stdin ends
 */
import { writeSync } from 'node:fs'
import { guard } from '@retake/guard'

const [dir, mode] = process.argv.slice(2)
try {
  const run = guard({
    name: 'resumed',
    dir,
    resume: true,
    ...(mode === 'process' && { durability: mode }),
  })
  run.tool('pay', ({ to }) => `paid ${to}`)
  const { served } = await run.call('pay', { to: 'Al' })
  writeSync(1, served ? 'served\n' : 'live\n')
  if (mode === 'kill') process.kill(process.pid, 'SIGKILL')
  if (mode === 'process') {
    run.tool('hang', () => new Promise(() => {}))
    void run.call('hang', {})
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20)
    await new Promise(() => {})
  }
  if (mode === 'hold') for await (const _ of process.stdin);
  if (mode === 'exit') process.exit(0)
  run.end()
} catch (error) {
  writeSync(1, `${error.code ?? error}\n`)
}
