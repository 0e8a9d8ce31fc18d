import { lookup } from 'node:dns/promises'
import { cpus, freemem, hostname, networkInterfaces, uptime } from 'node:os'
import { ask } from './model.mjs'

console.log(hostname(), uptime(), freemem(), cpus().length, Object.keys(networkInterfaces()))
console.log(process.pid, process.ppid, process.uptime(), process.memoryUsage().rss)
console.log(process.hrtime.bigint(), process.cpuUsage().user, performance.now())
console.log(await lookup('localhost', { all: true }))
console.log(new Intl.DateTimeFormat('en', { timeStyle: 'full' }).format(), crypto.randomUUID())
console.log(await ask(`report of ${process.pid}`))
