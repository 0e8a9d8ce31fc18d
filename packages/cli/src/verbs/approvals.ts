import path from 'node:path'
import { decideApproval, type PendingApproval, pendingApprovals, userName } from '@retake/guard'
import { duration } from '@retake/tape/present'
import { wrongUsage } from '../errors/command-line.js'
import { approvalNotPending } from '../errors/guard.js'
import { printable, widthOf, wrap, printJson } from '../terminal/terminal.js'
import { RunStore } from '../runs/run-store.js'
import { flag, type OptionValues, text, type Verb } from '../command-line/verb.js'

/** As many characters of an id as are shown. */
const SHOWN = 8

export const approvals: Verb = {
  usage: '[approve <id> | refuse <id>] [--reason text]',
  help: `Calls wait here that a rule with \`ask\` is about, in programs whose guard has
\`approval: { ask: 'viewer' }\`. \`retake ui\` shows them, too. A decision is good
for exactly the call that was shown, and only until it expires.

Options:
  --reason <text>  goes on the tape with the decision
  --dir <folder>   where the tapes are (default: .retake/runs)
  --json           one call a line

Examples:
  retake approvals
  retake approvals approve 3f2a9c01
  retake approvals refuse 3f2a9c01 --reason 'wrong customer'`,
  options: { reason: { type: 'string' }, dir: { type: 'string' } },
  run(values, [what, id, ...rest]) {
    const waiting = waitingIn(new RunStore(text(values, 'dir')))
    if (what === undefined) return Promise.resolve(list(waiting, flag(values, 'json')))
    if (what !== 'approve' && what !== 'refuse')
      throw wrongUsage(
        'approvals',
        `"${what}" is nothing it can do.`,
        'It can approve and refuse; alone it lists the calls that wait.',
      )
    if (id === undefined || rest.length > 0)
      throw wrongUsage(
        'approvals',
        `\`retake approvals ${what}\` takes the id of one call.`,
        `For example: retake approvals ${what} 3f2a9c01.`,
      )
    return Promise.resolve(decide(waiting, what === 'approve', id, values))
  },
}

interface Waiting extends PendingApproval {
  readonly tape: string
}

const waitingIn = (store: RunStore): Waiting[] =>
  store
    .ids()
    .map((run) => store.pathOf(run))
    .flatMap((tape) => pendingApprovals(tape, Date.now()).map((each) => ({ ...each, tape })))

function list(waiting: readonly Waiting[], json: boolean): number {
  if (json) {
    for (const each of waiting) printJson(jsonOf(each))
    return 0
  }
  if (waiting.length === 0) {
    process.stderr.write('no call waits for approval\n')
    return 0
  }
  const width = widthOf(process.stdout)
  console.log(waiting.map((each) => waitingLines(each, width).join('\n')).join('\n\n'))
  return 0
}

/** All of a call that is to be decided on: nobody should approve what was cut off. */
function waitingLines({ request, of, tape }: Waiting, width: number): string[] {
  const { tool, rule, why, args, expiresAt } = request
  return [
    `${of.slice(0, SHOWN)}  ${tool}`,
    `  run   ${path.basename(tape, '.tape')}`,
    `  rule  ${rule}, ${duration(expiresAt - Date.now())} left`,
    ...wrap(why, width - 8).map((line, index) => `  ${index === 0 ? 'why ' : '    '}  ${line}`),
    ...(JSON.stringify(args, undefined, 2) ?? 'no arguments')
      .split('\n')
      .map((line) => `  ${line}`),
  ].map((line) => printable(line).replaceAll(UNSEEN, escaped))
}

/** What turns text around or has no width could make a call look like another. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\n]/gu
const escaped = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`

function decide(
  waiting: readonly Waiting[],
  approved: boolean,
  id: string,
  values: OptionValues,
): number {
  // An empty id is a variable that was never set: it means no call, not the only one.
  const matches = id === '' ? [] : waiting.filter(({ of }) => of.startsWith(id))
  const [found] = matches
  if (found === undefined || matches.length > 1) throw approvalNotPending(id)
  const reason = text(values, 'reason')
  const decision = { approved, by: userName(), ...(reason !== undefined && { reason }) }
  if (!decideApproval(found.tape, found.of, decision, Date.now())) throw approvalNotPending(id)
  if (flag(values, 'json')) printJson({ ...jsonOf(found), ...decision })
  else
    process.stderr.write(
      `${approved ? 'approved' : 'refused'}: ${printable(found.request.tool)} in run ${path.basename(found.tape, '.tape')}\n`,
    )
  return 0
}

const jsonOf = ({ request, of, tape }: Waiting): object => ({
  id: of,
  run: path.basename(tape, '.tape'),
  ...request,
})
