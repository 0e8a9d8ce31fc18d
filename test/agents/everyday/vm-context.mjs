import { runInNewContext } from 'node:vm'
import { ask } from './model.mjs'

console.log(await ask(`a number: ${runInNewContext('Math.random()')}`))
