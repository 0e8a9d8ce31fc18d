// Loaded before the agent with --import: what it does must not happen again on replay.
import { appendFileSync } from 'node:fs'
import { ask } from './model.mjs'

appendFileSync('setup.log', `${Date.now()}\n`)
globalThis.greeting = await ask('greeting')
