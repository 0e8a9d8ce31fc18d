// Opens a session on a tape, uses it, and leaves it alone: `idle-sessions.mjs <tape> <idle ms>`.
// Prints how many processes it had, how many are left, and what it says then.
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTape } from '@retake/tape/node'
import { Sessions } from '../../../packages/web/dist/ui/sessions/sessions.js'

const [tape, idleMs] = process.argv.slice(2)
const children = () =>
  execFileSync('ps', ['-o', 'args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('ps ')).length

const sessions = new Sessions({ idleMs: Number(idleMs) })
const { session } = sessions.open(openTape(tape))
await sessions.move(session, { to: 'next' })
const used = children()
const deadline = Date.now() + 10_000
while (children() > 0 && Date.now() < deadline) await sleep(20)
const code = await sessions.move(session, { to: 'next' }).catch((error) => error.code)
console.log(JSON.stringify({ used: used > 0, left: children(), code }))
