import { ask } from './model.mjs'

process.on('exit', (code) => console.log('leaving with', code))
void ask('never awaited')
console.log(await ask('hello'))
process.exit(7)
