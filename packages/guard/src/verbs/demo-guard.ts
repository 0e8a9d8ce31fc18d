import { printJson } from '@retake/runner/terminal'
import type { Verb } from '@retake/runner/command-line'
import { openTape } from '@retake/tape/node'
import { auditRun } from './guard-audit.js'
import { copyShipped, Tour } from '@retake/runner/demo'

export default {
  arguments: '',
  description: `Records two small programs that come with Retake: one with tools under a policy,
one with a tool that breaks its contract. Then replays the first: no tool runs again, and the
decisions are the same. The programs are copied to .retake/sample each time. To try a change, edit
one and run it with \`retake record\`. No key is needed.`,
  options: { '--json': 'print only the results, as JSON' },
  examples: ['retake demo guard', 'retake record .retake/sample/policy.ts'],
  async run(options) {
    const tour = new Tour({ isQuiet: options.json })
    const folder = copyShipped('sample', [POLICY, CONTRACT])
    tour.chapter('Policy: a tool may read its notes, and nothing else')
    const first = await tour.record(folder, POLICY)
    tour.chapter('Contract: a tool promised JSON')
    const second = await tour.record(folder, CONTRACT)
    tour.chapter('Replay: the first act again, without running a tool')
    const tape = openTape(first.tape)
    tour.lines(`$ retake replay ${tape.run.id}`)
    const { identical, receipt } = await tour.replay(tape, first)
    const [run, { where }] = [tape.run.id, folder]
    const next = [
      [`retake guard audit ${run}${where}`, 'which rule decided what'],
      [`retake show ${run}${where}`, 'its steps'],
      [`retake ui${where}`, 'see all of this in the browser'],
      [`retake record${where} ${folder.pathOf(POLICY)}`, 'run it again, after a change'],
    ]
    tour.lines('', ...next.map(([command = '', what]) => `${command.padEnd(38)}  ${what}`))
    if (options.json)
      printJson({
        policy: { run: tape.run.id, states: statesOf(first.tape) },
        contract: { run: openTape(second.tape).run.id, states: statesOf(second.tape) },
        replay: { identical, divergences: receipt.divergences },
      })
    return identical ? 0 : 1
  },
} satisfies Verb

const POLICY = 'policy.ts'
const CONTRACT = 'contract.ts'

const statesOf = (tape: string): string[] =>
  auditRun(openTape(tape)).calls.map(({ tool, state }) => `${tool}: ${state}`)
