import { createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs'
import { appendFile, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { ask } from './model.mjs'

await writeFile('report.md', `# ${await ask(readFileSync('setup.mjs', 'utf8'))}\n`)
await appendFile('report.md', new Date().toISOString())
await pipeline(createReadStream('report.md'), createGzip(), createWriteStream('report.md.gz'))
const { size, mtimeMs } = await stat('report.md.gz')
console.log(size, mtimeMs, existsSync('missing'))
const scratch = await mkdtemp('scratch-')
await writeFile(join(scratch, 'a'), 'a')
await rm(scratch, { recursive: true })
console.log(scratch, readFileSync('report.md', 'utf8'))
