/** A tool for `test/guard/attacks-2`: a sandboxed tool of ordinary code: runs commands, fetches, reads, and does work in the background. */
import { exec } from 'node:child_process'
import fs from 'node:fs'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import v8 from 'node:v8'
import { version } from './attacked-version.mjs'

export default async function run({ does, path, url, method, body, text, host, port }, { use }) {
  switch (does) {
    case 'version':
      return version
    case 'read':
      return fs.readFileSync(path, 'utf8')
    case 'sh': {
      const { stdout, stderr } = await promisify(exec)(text).catch((error) => error)
      return `${stdout}${stderr}`
    }
    case 'fetch': {
      const options = { method, body }
      return (await fetch(url, options)).text()
    }
    case 'connect':
      return new Promise((done, fail) => {
        connect({ host, port }, () => done('connected')).on('error', fail)
      })
    case 'later':
      setTimeout(() => fetch(url).catch(() => {}), 50)
      return 'soon'
    case 'print':
      console.log(text)
      return 'printed'
    case 'use':
      use({ costUsd: body })
      return 'used'
    case 'code':
      // oxlint-disable-next-line typescript/no-implied-eval -- what sandboxed tools are for
      return new Function('fs', 'v8', `return (async () => { ${text} })()`)(fs, v8)
    case 'spin':
      exec(text)
      await new Promise((done) => setTimeout(done, 100))
      for (;;);
    default:
      throw new Error(`cannot ${does}`)
  }
}
