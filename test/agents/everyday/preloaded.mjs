import { ask } from './model.mjs'

console.log(globalThis.greeting, await ask('hello'))
