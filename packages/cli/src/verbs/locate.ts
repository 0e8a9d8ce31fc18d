import { locate as locateText } from '@retake/diagnose'
import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../errors/command-line.js'
import { textNotFound } from '../errors/runs.js'
import { locateLines } from '../locate-lines.js'
import { RunStore } from '../run-store.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { Verb } from '../verb.js'
import { viewRun } from '../view-run.js'

export const locate: Verb = {
  usage: '<run> <text> [options]',
  help: `Looks through every event of a run: answers, streamed ones too, files, tool
results, random values and the environment, where a value comes in; requests,
tool arguments, files and output, where it goes out. Escapes do not matter, and
a number is found as a whole number. Exit code 1 when it stands nowhere.

Options:
  --all           every place, also repeated history of conversations
  --dir <folder>  where the tapes are (default: .retake/runs)
  --json          everything as JSON

Examples:
  retake locate last "60 days"
  retake locate last 249
  retake locate last call_7f3a --json | jq '.occurrences[0]'
  retake locate last -- --starts-with-a-dash`,
  options: { all: { type: 'boolean' }, dir: { type: 'string' } },
  run(values, [name, wanted, ...rest]) {
    if (name === undefined || wanted === undefined || rest.length > 0)
      throw wrongUsage(
        'locate',
        rest.length > 0 ? 'Name one run and one text.' : 'Name a run and a text to look for.',
        'Text with spaces goes in quotes: retake locate last "60 days".',
      )
    if (wanted.trim() === '')
      throw wrongUsage('locate', 'The text to look for is empty.', 'It would stand everywhere.')
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    const found = locateText(tape, viewRun(tape), wanted)
    if (found.occurrences.length === 0) throw textNotFound(tape.run.id, wanted, found.nearMisses)
    if (flag(values, 'json'))
      console.log(JSON.stringify({ run: tape.run.id, path: tape.path, ...found }, undefined, 2))
    else {
      const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
      console.log(locateLines(tape.run.id, found, { ...look, all: flag(values, 'all') }).join('\n'))
    }
    if (tape.status === 'truncated')
      process.stderr.write('The recording was cut off; what came after is not on the tape.\n')
    return Promise.resolve(0)
  },
}
