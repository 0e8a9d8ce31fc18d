import { ask } from './model.mjs'

process.once('SIGUSR2', () => console.log('asked to report'))
process.kill(process.pid, 'SIGUSR2')
console.log(await ask('hello'))
const working = setInterval(() => {}, 1000)
process.once('SIGTERM', () => {
  clearInterval(working)
  console.log('asked to stop')
  process.exitCode = 5
})
setTimeout(() => process.kill(process.pid, 'SIGTERM'), 20)
