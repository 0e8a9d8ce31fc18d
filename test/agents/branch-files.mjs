// Writes files before and after a step; a fork of it must not change a file on disk.
import fs from 'node:fs'
import { tool } from '@retake/engine'

const ask = tool('ask', () => 'recorded')
fs.writeFileSync('before.txt', 'before\n')
fs.appendFileSync('log.txt', 'first\n')
const word = await ask()
fs.appendFileSync('log.txt', `${word}\n`)
fs.writeFileSync(`${word}.txt`, `${word}\n`)
if (word === 'forked') fs.rmSync('input.txt')
if (word === 'failed') throw new Error('failed')
process.on('exit', () => fs.writeFileSync('at-exit.txt', word))
console.log(fs.readFileSync('log.txt', 'utf8').replaceAll('\n', ' '))
console.log(
  fs
    .readdirSync('.')
    .filter((name) => name.endsWith('.txt'))
    .join(' '),
)
