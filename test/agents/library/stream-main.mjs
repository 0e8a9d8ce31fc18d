// The slow one as a program.
import { slowly } from './stream-agent.mjs'

console.log(JSON.stringify(await slowly(process.env.AGENT_BASE_URL)))
