// Uses everything a docs server offers: `agent.mjs <generation> <server file or address> [tool …]`.
import { connect } from './connect.mjs'

const [generation, target, ...more] = process.argv.slice(2)
const log = (...words) => console.log(Date.now(), ...words)
const call = async (client, name, args, options) => {
  const result = await client.callTool({ name, arguments: args }, ...(options ?? []))
  log(name, result.isError === true ? 'failed' : 'said', result.content[0].text)
}

const client = await connect(generation, target)
log('server', client.getServerVersion()?.name)
log('tools', (await client.listTools()).tools.map(({ name }) => name).join(' '))
await call(client, 'search_docs', { query: 'refunds', limit: 3 })
await Promise.all([
  call(client, 'slow', { ms: 60, name: 'first' }),
  call(client, 'slow', { ms: 10, name: 'second' }),
  call(client, 'slow', { ms: 30, name: 'third' }),
])
await call(client, 'broken', {})
const onprogress = ({ progress, total, message }) => log('progress', progress, total, message)
// v1 has the result schema second, v2 the options.
const options = generation === 'v1' ? [undefined, { onprogress }] : [{ onprogress }]
await call(client, 'count', { to: 3 }, options)
log('resource', (await client.readResource({ uri: 'docs://guide' })).contents[0].text)
log('prompt', (await client.getPrompt({ name: 'ask' })).messages[0].content.text)
await call(client, 'no_such_tool', {}).catch((error) => log('refused', error.code, error.message))
for (const name of more) {
  await call(client, name, name === 'summarize' ? { of: 'refunds' } : {}).catch((error) =>
    log('lost', error.code, error.message),
  )
}
await client.close()
log('closed')
