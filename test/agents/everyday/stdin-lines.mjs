import { createInterface } from 'node:readline'
import { ask } from './model.mjs'

for await (const line of createInterface({ input: process.stdin })) console.log(await ask(line))
