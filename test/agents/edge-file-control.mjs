// A short agent for negative controls: reads, decides, writes.
import fs from 'node:fs'
import { lookup } from 'node:dns/promises'
import { readFile, writeFile } from 'node:fs/promises'

const order = JSON.parse(await readFile('order.json', 'utf8'))
const rules = fs.readFileSync('rules.txt', 'utf8').trim()
const { address } = await lookup('localhost', 4)
fs.mkdirSync('out', { recursive: true })
await writeFile('out/answer.txt', `order ${order.id}\nrule ${rules}\nsigned`)
fs.appendFileSync('out/log.txt', 'answered\n', { flag: 'a' })
const fd = fs.openSync('out/bytes.bin', 'w')
fs.writeSync(fd, Buffer.from('bytes'), 0, 5, 0)
fs.closeSync(fd)
console.log(order.id, rules, address, fs.statSync('out/answer.txt').size)
