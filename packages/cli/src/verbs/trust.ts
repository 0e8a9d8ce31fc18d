import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { openTape } from '@retake/tape/node'
import { rememberTrust, startLine } from '@retake/runner/agent'
import { printJson } from '@retake/runner/terminal'

export default {
  arguments: '<run...>',
  description: `A tape names the program that a replay starts. By default, Retake only starts
programs that you recorded on this machine. This command prints what a run from a colleague or a
repository would start, and allows it.

Trust covers the program, its arguments, flags, folder and environment. It is stored outside of the
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
      else if (starts === '') process.stderr.write(`${id} starts no program: nothing to trust\n`)
      else process.stderr.write(`trusted ${id}: it starts ${starts}\n`)
    }
    return 0
  },
} satisfies Verb
