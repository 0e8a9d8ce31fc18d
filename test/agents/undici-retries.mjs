// The agent undici-and-fetch.mjs with a dispatcher that a recorded fetch cannot copy.
import { Agent, RetryAgent, setGlobalDispatcher } from 'undici'

setGlobalDispatcher(new RetryAgent(new Agent({ connections: 1 })))
await import('./undici-and-fetch.mjs')
