import { ask } from './model.mjs'

console.log(await ask('before the crash'))
setTimeout(() => {
  throw new TypeError(`no price for order ${Math.random()}`)
}, 5)
