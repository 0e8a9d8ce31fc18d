/**
 * The least a forwarding proxy in Node can do: no tape, nothing looked at, every
 * stream piped. Prints its address and ends with its stdin.
 *
 *     node bench/measure/bare-proxy.mjs <upstream>
 */
import { Agent, createServer, request as ask } from 'node:http'

const upstream = new URL(process.argv[2])
const agent = new Agent({ keepAlive: true })
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const { method, url, headers } = request
  const forwarded = ask(
    new URL(url, upstream),
    { method, headers: { ...headers, host: upstream.host }, agent },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    },
  )
  request.pipe(forwarded)
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
)
process.stdin.resume().on('end', () => process.exit(0))
