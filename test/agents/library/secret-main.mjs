// The same agent as a program.
import { agent } from './secret-agent.mjs'

console.log(JSON.stringify(await agent(process.env.AGENT_BASE_URL)))
