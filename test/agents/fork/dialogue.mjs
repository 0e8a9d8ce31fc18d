// Asks on a terminal, uses a tool, and asks again.
import { createInterface } from 'node:readline/promises'
import { tool } from '@retake/engine'

const order = tool('order', (what) => `ordered ${what}`)
const prompt = createInterface({ input: process.stdin, output: process.stdout })
const first = await prompt.question('What? ')
console.log(await order(first))
const second = await prompt.question('More? ')
console.log(`then [${second}]`)
prompt.close()
