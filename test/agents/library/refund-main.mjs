// The same agent as a program.
import { agent } from './refund-agent.mjs'

const { draft } = await agent(process.env.AGENT_BASE_URL)
console.log(draft)
process.exitCode = 4
