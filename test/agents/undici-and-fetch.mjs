// An agent that uses the fetch of Node first, then the npm package undici.
import { fetch, request } from 'undici'

const base = process.env.AGENT_BASE_URL
const ask = async (client, path) =>
  console.log(path, (await (await client(`${base}/echo?${path}`)).json()).random)

await ask(globalThis.fetch, 'global')
await ask(fetch, 'package')
await ask(globalThis.fetch, 'global-again')
const { body } = await request(`${base}/echo?request`)
console.log('request', (await body.json()).random)
