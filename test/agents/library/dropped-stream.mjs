// Records two runs that return a stream nobody reads, drops one of them, and says as JSON what
// became of their tapes when nothing keeps the process alive any more.
import { openTape } from '@retake/tape/node'
import { record } from '@retake/engine'

const options = { name: 'unread', dir: process.argv[2] }
const agent = () => new Response(ReadableStream.from(['never read']))

const kept = await record(options, agent)
const dropped = await record(options, agent).then(({ run }) => run)

const DEADLINE = Date.now() + 60_000
const isSealed = () => openTape(dropped.path).status === 'sealed'
while (!isSealed() && Date.now() < DEADLINE) {
  globalThis.gc()
  await new Promise((turn) => setTimeout(turn, 10))
}

process.on('exit', () => {
  const statusOf = (run) => openTape(run.path).status
  console.log(JSON.stringify({ kept: statusOf(kept.run), dropped: statusOf(dropped) }))
  if (kept.output.bodyUsed) throw new Error('it was read')
})
