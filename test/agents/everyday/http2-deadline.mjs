import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { Readable } from 'node:stream'

/** Like gRPC clients: HTTP/2 over a connection of its own, and requests with a deadline. */
const { hostname, port } = new URL(process.env.AGENT_H2_URL)
const session = connectHttp2(process.env.AGENT_H2_URL, {
  createConnection: () => connect(Number(port), hostname),
})

async function answer() {
  let text = ''
  for await (const chunk of session.request({ ':path': '/chunks?count=3&gapMs=5' })) text += chunk
  return text
}

console.log(await answer())
const late = session.request({ ':method': 'POST', ':path': '/hang' })
Readable.from(['one', 'two', 'three', 'four']).pipe(late)
setTimeout(() => late.close(constants.NGHTTP2_CANCEL), 150)
late.on('error', (error) => console.log(error.code))
await once(late, 'close')
console.log(late.rstCode, await answer())
session.close()
