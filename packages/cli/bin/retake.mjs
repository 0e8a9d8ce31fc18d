#!/usr/bin/env node
// A plain file, so that `npm ci` can link it before anything is compiled.
import module from 'node:module'

// Compiled code is cached between commands. Node 20 cannot do this.
module.enableCompileCache?.()

const { main } = await import('../bundle/main.js')
await main(process.argv.slice(2))
