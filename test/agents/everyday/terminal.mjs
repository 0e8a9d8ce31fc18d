import { createInterface } from 'node:readline/promises'
import { ask } from './model.mjs'

const terminal = createInterface({ input: process.stdin, output: process.stdout })
const name = await terminal.question('Your name? ')
console.log(process.stdout.isTTY, await ask(name))
console.log(`Bye, ${await terminal.question('Anything else? ')}`)
terminal.close()
