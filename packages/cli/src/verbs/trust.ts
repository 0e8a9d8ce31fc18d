import { DIR_OPTION, type Verb } from '../command-line/verb.js'
import { openTape } from '@retake/tape/node'
import { rememberTrust, startLine } from '../agent/trust.js'
import { printJson } from '../terminal/terminal.js'

export default {
  arguments: '<run...>',
  description: `A tape names the program that a replay starts. Retake only starts programs of runs
that you recorded on this machine. A run from a colleague or a repository must be trusted first:
this command prints what would be started, and allows it.

Trust covers program, arguments, flags, folder and environment. It is stored outside of the
project, in $XDG_STATE_HOME/retake or ~/.local/state/retake.`,
  options: { ...DIR_OPTION, '--json': 'print one run per line as JSON' },
  examples: ['retake trust last', 'retake trust test/tapes/refund.tape'],
  run(options, names) {
    const store = options.store
    const tapes = names.map((name) => openTape(store.find(name)))
    for (const tape of tapes) {
      rememberTrust(tape)
      const { id } = tape.run
      const starts = startLine(tape)
      if (options.json) printJson({ run: id, tape: tape.path, starts })
      else process.stderr.write(`trusted ${id}: it starts ${starts}\n`)
    }
    return 0
  },
} satisfies Verb
