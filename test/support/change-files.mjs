/** Applies or undoes a fix in the current folder: `node change-files.mjs apply|undo|recover|state`. */
import { readFileSync } from 'node:fs'
import { AppliedFixes } from '../../packages/lab/dist/fix/apply-fix.js'

const [action] = process.argv.slice(2)
const fixes = new AppliedFixes('.retake/runs')
const options = { by: 'user', force: true }
process.stdout.write('ready\n')
if (action === 'apply') fixes.apply(JSON.parse(readFileSync('fix.json', 'utf8')), options)
else if (action === 'undo') fixes.undo(options)
else if (action === 'recover') process.stdout.write(`${fixes.recover() ?? 'nothing'}\n`)
process.stdout.write(`${JSON.stringify(fixes.applied().map(({ id }) => id))}\n`)
