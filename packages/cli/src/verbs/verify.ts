import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { noRuns, wrongUsage } from '../errors.js'
import { FOUND } from '../exit-codes.js'
import { Progress } from '../progress.js'
import { RunStore } from '../run-store.js'
import { table } from '../table.js'
import { painter, widthOf } from '../terminal.js'
import type { Paint } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { Verb } from '../verb.js'
import { verifyTape } from '../verify-tape.js'
import type { Verified } from '../verify-tape.js'

export const verify: Verb = {
  name: 'verify',
  summary: 'Check that tapes are whole and still replay; for CI',
  usage: '<run|folder>… [options]',
  help: `Recomputes every digest of the tape, then runs the program again and compares.
Exit code 3 when a tape is damaged or a program does something else now.

Options:
  --integrity-only  do not run the programs again
  --dir <folder>    where the tapes are (default: .retake/runs)
  --json            one result a line

Examples:
  retake verify last
  retake verify test/tapes
  retake verify .retake/runs --integrity-only --json`,
  options: { 'integrity-only': { type: 'boolean' }, dir: { type: 'string' } },
  async run(values, names) {
    if (names.length === 0)
      throw wrongUsage(
        'verify',
        'Name a run or a folder of tapes.',
        'For example: retake verify last.',
      )
    const store = new RunStore(text(values, 'dir'))
    const files = names.flatMap((name) => tapesOf(name, store))
    const results: Verified[] = []
    const progress = new Progress('')
    try {
      for (const [index, file] of files.entries()) {
        progress.say(`verifying ${index + 1} of ${files.length}: ${path.basename(file)}`)
        const result = await verifyTape(file, { replay: !flag(values, 'integrity-only') })
        results.push(result)
        if (flag(values, 'json')) console.log(JSON.stringify(result))
      }
    } finally {
      progress.stop()
    }
    if (!flag(values, 'json')) print(results)
    return results.every(({ ok }) => ok) ? 0 : FOUND
  },
}

function tapesOf(name: string, store: RunStore): string[] {
  if (!statSync(name, { throwIfNoEntry: false })?.isDirectory()) return [store.find(name)]
  const files = readdirSync(name)
    .filter((file) => file.endsWith('.tape'))
    .toSorted()
  if (files.length === 0) throw noRuns(path.resolve(name))
  return files.map((file) => path.join(name, file))
}

function print(results: readonly Verified[]): void {
  const paint = painter(process.stdout)
  const rows = results.map((result) => [
    result.run ?? path.basename(result.tape),
    painted(result.integrity, paint),
    painted(result.replay, paint),
    result.detail,
  ])
  console.log(table([['run', 'tape', 'replay', ''], ...rows], widthOf(process.stdout)).join('\n'))
  const bad = results.filter(({ ok }) => !ok).length
  const fine = `${results.length - bad} of ${results.length} fine`
  process.stderr.write(bad === 0 ? `${fine}\n` : `${fine}, ${bad} with findings\n`)
}

const GOOD = new Set(['whole', 'identical'])
const BAD = new Set(['damaged', 'unreadable', 'diverged', 'failed'])
const painted = (word: string, paint: Paint): string =>
  GOOD.has(word) ? paint('green', word) : BAD.has(word) ? paint('red', word) : word
