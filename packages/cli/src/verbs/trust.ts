import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../errors/command-line.js'
import { RunStore } from '../runs/run-store.js'
import { rememberTrust, startLine } from '../agent/trust.js'
import { flag, text, type Verb } from '../command-line/verb.js'
import { printJson } from '../terminal/terminal.js'

export const trust: Verb = {
  usage: '<run>… [options]',
  help: `A tape says which program is started to replay it. Retake starts those of runs
that you recorded on this machine. A run from a colleague or a repository has to
be trusted first: this shows what it starts and remembers that it may.

Trust covers program, arguments, flags, folder and environment. It is remembered
outside of the project, in $XDG_STATE_HOME/retake or ~/.local/state/retake.

Options:
  --dir <folder>  where the tapes are (default: .retake/runs)
  --json          one run a line

Examples:
  retake trust last
  retake trust test/tapes/refund.tape`,
  options: { dir: { type: 'string' } },
  run(values, names) {
    if (names.length === 0)
      throw wrongUsage('trust', 'Name a run to trust.', 'For example: retake trust last.')
    const store = new RunStore(text(values, 'dir'))
    const tapes = names.map((name) => openTape(store.find(name)))
    for (const tape of tapes) {
      rememberTrust(tape)
      const { id } = tape.run
      const starts = startLine(tape)
      if (flag(values, 'json')) printJson({ run: id, tape: tape.path, starts })
      else process.stderr.write(`trusted ${id}: it starts ${starts}\n`)
    }
    return Promise.resolve(0)
  },
}
