import pino from 'pino'
import { ask } from './model.mjs'

const target = { target: 'pino/file', options: { destination: '/dev/null' } }
const log = pino({ transport: target })
for (const question of ['one', 'two', 'three']) {
  log.info({ question }, 'start')
  console.log(await ask(question))
}
await new Promise((resolve) => log.flush(resolve))
console.log('flushed')
