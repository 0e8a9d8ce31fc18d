// An agent on a terminal: asks questions, then takes single keys.
import readline from 'node:readline'
import { createInterface } from 'node:readline/promises'
import tty from 'node:tty'

console.log('terminal', process.stdin.isTTY, process.stdin.isRaw, tty.isatty(0), tty.isatty(1))
const prompt = createInterface({ input: process.stdin, output: process.stdout })
console.log('hello', await prompt.question('Name? '))
console.log('bye', await prompt.question('Again? '))
prompt.close()
readline.emitKeypressEvents(process.stdin)
process.stdin.setRawMode(true)
process.stdin.resume()
process.stdin.on('keypress', (_, key) => {
  console.log('key', key.name, process.stdin.isRaw)
  if (key.name !== 'q') return
  process.stdin.setRawMode(false)
  process.stdin.pause()
  console.log('over', process.stdin.isRaw)
})
console.log('Keys?')
