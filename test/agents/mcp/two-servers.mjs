// Talks to two servers at once, in parallel: `two-servers.mjs <generation> <server> <server>`.
import { connect } from './connect.mjs'

const [generation, ...targets] = process.argv.slice(2)
const clients = await Promise.all(
  targets.map((target, index) =>
    connect(generation, target, { DOCS_NAME: index === 0 ? 'docs' : 'wiki' }),
  ),
)
const search = async (client, query) => {
  const { content } = await client.callTool({ name: 'search_docs', arguments: { query } })
  console.log(client.getServerVersion()?.name, content[0].text)
}
await Promise.all(clients.flatMap((client) => ['refunds', 'returns'].map((q) => search(client, q))))
await Promise.all(clients.map((client) => client.close()))
