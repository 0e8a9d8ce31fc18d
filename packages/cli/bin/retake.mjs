#!/usr/bin/env node
// A plain file, so that `npm ci` can link it before anything is compiled.
const { main } = await import('../bundle/main.js')
await main(process.argv.slice(2))
