import { fork } from 'node:child_process'
import { ask } from './model.mjs'

if (process.argv[2] === 'child') {
  process.on('message', (text) => {
    process.send(`${text} ${Math.random()}`)
    process.disconnect()
  })
} else {
  const child = fork('children-ipc.mjs', ['child'])
  child.on('message', (text) => console.log('child said', text))
  child.on('exit', (code) => console.log('child exited with', code))
  child.send(await ask('what should the child do?'))
}
