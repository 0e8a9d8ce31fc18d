/**
 * `node test/secrets-corpus/run.mjs`: records the corpus, and prints the values that can be read
 * afterwards, and how many there are of each format and in each location. `--update` removes what
 * is right now from `not-hidden-yet.json` and `changed-yet.json`. Exits with 1 if these differ.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compareWithLists, countsTable, missesTable, shortenLists } from './listed.mjs'
import { measure } from './measure.mjs'
import { startWorld } from './world.mjs'

// Runs are trusted in a state folder; it must not be that of the user.
process.env['XDG_STATE_HOME'] = mkdtempSync(join(tmpdir(), 'retake-state-'))
const world = await startWorld()
const measured = await measure(world).finally(() => {
  world.stop()
})
rmSync(process.env['XDG_STATE_HOME'], { recursive: true })
console.log(`${missesTable(measured)}\n\n${countsTable(measured)}`)
if (process.argv.includes('--update')) shortenLists(measured)
const { added, removable } = compareWithLists(measured)
for (const id of added) console.error(`leaks or is changed, and is not listed: ${id}`)
for (const id of removable) console.error(`is right now, remove it with --update: ${id}`)
if (added.length > 0 || removable.length > 0) process.exitCode = 1
