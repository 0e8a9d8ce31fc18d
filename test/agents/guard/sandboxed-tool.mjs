/** A tool for `test/guard/sandbox.test.ts`: does what it is told, like honest code with hostile arguments. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { factor } from './sandboxed-factor.mjs'

export default function run({ does, path, url, text }, { use, idempotencyKey }) {
  switch (does) {
    case 'multiply':
      return text.length * factor
    case 'read':
      return readFileSync(path, 'utf8')
    case 'write':
      return writeFileSync(path, text)
    case 'shell':
      return execFileSync('sh', ['-c', text], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    case 'fetch':
      return fetch(url).then((response) => response.text())
    case 'variables':
      return Object.keys(process.env)
    case 'use':
      use({ costUsd: 0.25 })
      return idempotencyKey
    case 'spin':
      for (;;);
    case 'allocate': {
      const all = []
      for (;;) all.push(Buffer.alloc(10_000_000, 1))
    }
  }
  throw Object.assign(new TypeError(`cannot ${does}`), { code: 'CANNOT' })
}

export const pid = () => process.pid
