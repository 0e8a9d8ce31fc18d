// No race: three tools at the same time, each followed by a line in a log that is a stream.
import { createWriteStream } from 'node:fs'
import { tool } from '@retake/engine'

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const square = tool('square', async (number) => {
  await wait(number * 10)
  return number ** 2
})

const log = createWriteStream('squares.log')
const squares = await Promise.all(
  [1, 2, 3].map(async (number) => {
    const result = await square(number)
    log.write(`${number}\n`)
    return result
  }),
)
await new Promise((resolve) => log.end(resolve))
console.log(squares.join(' '))
