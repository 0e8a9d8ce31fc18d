// The agent undici-and-fetch.mjs with a dispatcher of its own.
import { Agent, setGlobalDispatcher } from 'undici'

setGlobalDispatcher(new Agent({ connections: 1, bodyTimeout: 0 }))
await import('./undici-and-fetch.mjs')
