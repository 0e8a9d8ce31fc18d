import { Agent, RetryAgent, setGlobalDispatcher } from 'undici'
import { ask } from './model.mjs'

setGlobalDispatcher(new RetryAgent(new Agent({ connections: 1 })))
console.log(await ask('with retries'))
