// A request with its own dispatcher, which finds a host that DNS does not know.
import { Agent } from 'undici'

const { port } = new URL(process.env.AGENT_BASE_URL)
const lookup = (_host, options, done) =>
  options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
const dispatcher = new Agent({ connect: { lookup } })
const response = await fetch(`http://model.invalid:${port}/echo?dispatcher`, { dispatcher })
console.log(response.status, await response.text())
