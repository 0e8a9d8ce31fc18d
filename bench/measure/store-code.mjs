/** Stores the code of a program as `retake record` does before it starts, and prints what that cost. */
import path from 'node:path'
import { storeCode } from '@retake/runner/sources'

const folder = process.argv[2]
process.chdir(folder)
const before = process.cpuUsage()
const start = performance.now()
const code = storeCode(path.join(folder, 'agent.mjs'), folder, path.join(folder, '.retake', 'runs'))
const wallMs = performance.now() - start
const { user, system } = process.cpuUsage(before)
const onTape = JSON.stringify({ code }).length
console.log(JSON.stringify({ cpuMs: (user + system) / 1000, wallMs, onTape, files: code.files }))
