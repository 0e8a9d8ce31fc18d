import type { Verb } from '@retake/runner/command-line'
import type { InDoubt } from '@retake/engine'
import { lookAtDoubts, planResume } from '@retake/engine/plans'
import { CONTINUE_OPTIONS, continueVerb } from '@retake/runner/agent'
import { refuseProxyRun } from '@retake/runner/agent'
import { requireTrust } from '@retake/runner/agent'
import { Interrupted } from '@retake/runner/command-line'
import { promptOnTerminal, fromHere, painter, printable } from '@retake/runner/terminal'

export default {
  arguments: '<run>',
  description: `Serves the recorded part from the tape, then goes live. A killed run continues on
its own tape. A run that ended with an error continues as a branch, and the failed step is sent
again.

A step is in doubt if its request was sent but its answer was never recorded: it may have had its
effect. Retake repeats it only if you choose retry. A write to a local file is compared with the
file, and then made, finished or counted as done.`,
  options: {
    '--in-doubt <policy>':
      'ask (default on a terminal), retry, skip (the agent gets an error instead), fail (default elsewhere)',
    ...CONTINUE_OPTIONS,
  },
  examples: ['retake resume last', 'retake resume last --in-doubt retry'],
  stdoutIsAgents: true,
  async run(options, [name = '']) {
    const isTerminal = process.stdin.isTTY && process.stderr.isTTY
    const policy =
      options.choice('in-doubt', ['ask', 'retry', 'skip', 'fail']) ?? (isTerminal ? 'ask' : 'fail')
    const tape = options.openRun(name)
    refuseProxyRun(tape)
    requireTrust(tape)
    const doubts = policy === 'ask' ? lookAtDoubts(tape).open : []
    const decisions = doubts.length > 0 && (await promptInDoubt(doubts))
    const plan = planResume(tape, {
      inDoubt: policy === 'ask' ? 'fail' : policy,
      ...(decisions && { decisions }),
    })
    return continueVerb(tape, plan, 'resumed', options)
  },
} satisfies Verb

/** Prompts for a decision about each step in doubt. */
async function promptInDoubt(
  doubts: readonly InDoubt[],
): Promise<Record<string, 'retry' | 'skip'>> {
  const paint = painter(process.stderr)
  return promptOnTerminal(async (prompt) => {
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
        const said = await prompt('  [r]etry it, [s]kip it, or [q]uit? ')
        if (/^q/i.test(said)) throw new Interrupted('SIGINT')
        decision = /^r/i.test(said) ? 'retry' : /^s/i.test(said) ? 'skip' : undefined
      }
      decisions[seq] = decision
    }
    return decisions
  })
}
