// A CommonJS agent that loads modules late, between reads of its own.
const fs = require('node:fs')
const { readFileSync } = fs
const path = require('node:path')

console.log(0, readFileSync(__filename, 'utf8').length > 0)
console.log(1, require('./parts/edge-module.cjs').data.from)
console.log(2, fs.readFileSync(path.join(__dirname, 'parts/edge-module.cjs')).length)
console.log(
  3,
  require.resolve('./parts/edge-data.json') === path.join(__dirname, 'parts/edge-data.json'),
)
async function later() {
  const { value } = await import('./parts/small-module.mjs')
  console.log(4, value, fs.existsSync(__dirname))
  const error = new Error('looked at')
  console.log(5, error.stack.includes('edge-modules.cjs'))
  process.nextTick(fs.readFile, __filename, 'utf8', (_, text) => console.log(6, text.length > 0))
  queueMicrotask(() => console.log(7, fs.statSync(__filename).isFile()))
}
void later()
