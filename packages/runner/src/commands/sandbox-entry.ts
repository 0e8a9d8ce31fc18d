import { spawn } from 'node:child_process'
import { readFileSync, writeSync } from 'node:fs'
import { forwardTo } from '../agent/forward-sockets.js'
import type { SandboxTask } from './run-in-sandbox.js'

/**
 * First process of a sandbox: forwards the proxy's port on the inner loopback to the proxy outside,
 * and runs the command. Reports its beginning and end on file descriptor 3.
 */
const task = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SandboxTask
const say = (what: object): void => void writeSync(3, `${JSON.stringify(what)}\n`)

// Terminal signals are for the command; this process outlives it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const server = forwardTo({ path: task.socket })

server.listen({ port: task.port, host: '127.0.0.1', backlog: 1024 }, () => {
  say({ ready: true })
  const [file = '', ...args] = task.command
  const child = spawn(file, args, { cwd: task.cwd, env: task.env, stdio: 'inherit' })
  child.on('error', ({ message }) => {
    say({ failed: message })
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    say({ code, signal })
    process.exit(code ?? 1)
  })
})
