import type { InDoubt } from '@retake/engine'
import { Interrupted } from './agent-process.js'
import { askOnTerminal } from './ask-on-terminal.js'
import { fromHere } from './from-here.js'
import { printable } from './printable.js'
import { painter } from './terminal.js'

/** Asks on the terminal what to do about each step in doubt. */
export async function askInDoubt(
  doubts: readonly InDoubt[],
): Promise<Record<string, 'retry' | 'skip'>> {
  const paint = painter(process.stderr)
  return askOnTerminal(async (ask) => {
    const decisions: Record<string, 'retry' | 'skip'> = {}
    for (const { seq, step, what, site, partial } of doubts) {
      const name = step === undefined ? '' : `step ${step}: `
      process.stderr.write(
        `${paint('yellow', 'in doubt')} ${name}${printable(what)}\n` +
          `  It left before the run was killed; its answer ${partial ? 'broke off' : 'is not on the tape'}.\n` +
          (site === undefined ? '' : `  at ${fromHere(site)}\n`),
      )
      let decision: 'retry' | 'skip' | undefined
      while (decision === undefined) {
        const said = await ask('  [r]etry it, [s]kip it, or [q]uit? ')
        if (/^q/i.test(said)) throw new Interrupted('SIGINT')
        decision = /^r/i.test(said) ? 'retry' : /^s/i.test(said) ? 'skip' : undefined
      }
      decisions[seq] = decision
    }
    return decisions
  })
}
