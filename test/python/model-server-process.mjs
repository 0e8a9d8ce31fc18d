/**
 * A scripted model server as its own process, so that it can be stopped before a
 * replay. Its answers come as JSON in the first argument. Prints a line with its
 * address when it is ready, and what is left of its script when its stdin closes.
 */
import { startModelServer } from '@retake/engine/testing'

const server = await startModelServer({ answers: JSON.parse(process.argv[2]) })
console.log(JSON.stringify({ url: server.url }))

process.stdin.resume()
process.stdin.on('end', async () => {
  console.log(JSON.stringify({ requests: server.requests.length, unused: server.unused.length }))
  await server.stop()
  process.exit(0)
})
