// A tool called with one array, replayed by code that calls it with two arguments.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { record, replay, tool } from '@retake/engine'

const add = tool('add', (...numbers) => numbers.flat().reduce((sum, number) => sum + number, 0))
const dir = mkdtempSync(join(tmpdir(), 'retake-tool-'))
const { run } = await record({ name: 'tool', dir }, () => add([1, 2]))
const same = await replay(run.path, () => add([1, 2]))
const other = await replay(run.path, () => add(1, 2)).catch((error) => error)
console.log(JSON.stringify({ same: same.output, other: other.code }))
rmSync(dir, { recursive: true })
