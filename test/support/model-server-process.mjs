/**
 * The scripted model server as a process of its own, answering as
 * test/sdks/shop-model.mjs says. Prints one JSON line when it is ready and one
 * with what it was asked when its stdin closes; then it exits.
 *
 *     node test/support/model-server-process.mjs
 */
import { startModelServer } from '@retake/engine/testing'
import { createShopModel } from '../sdks/shop-model.mjs'

const server = await startModelServer({ answer: createShopModel() })
console.log(JSON.stringify({ url: server.url }))

process.stdin.resume()
process.stdin.on('end', async () => {
  await server.stop()
  process.exit(0)
})
