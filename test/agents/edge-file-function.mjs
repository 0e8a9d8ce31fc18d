// A function to record: works with files while others in the process do too, and
// leaves something behind.
import fs, { createReadStream } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'

// The host's own work, outside every run.
fs.writeFileSync('host.txt', 'the host was here')
setInterval(() => fs.appendFileSync('host.txt', '.'), 1).unref()

export async function agent() {
  await mkdir('made', { recursive: true })
  await writeFile('made/plan.txt', `plan ${Math.random()}`)
  const plan = await readFile('made/plan.txt', 'utf8')
  let length = 0
  for await (const chunk of createReadStream('made/plan.txt')) length += chunk.length
  const handle = await open('made/left-open.txt', 'w')
  await handle.write('first')
  // Nobody waits for this one.
  setTimeout(async () => {
    await handle.write(' last').catch(() => {})
    await handle.close().catch(() => {})
  }, 30)
  const { address } = await lookup('localhost', 4)
  return { plan, length, address, size: fs.statSync('made/plan.txt').size }
}
