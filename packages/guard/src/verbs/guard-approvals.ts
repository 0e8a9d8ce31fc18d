import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import path from 'node:path'
import {
  approvalPublicKey,
  decideApproval,
  type PendingApproval,
  pendingApprovals,
} from '../approval/approval-files.js'
import { userName } from '../approval/prompt-terminal.js'
import { cliErrors } from '@retake/runner/errors'
import { leadLines, printable, printJson, widthOf } from '@retake/runner/terminal'
import { argumentLines, duration, visibleText } from '@retake/tape/present'

const SHOWN = 8

export default {
  arguments: '[approve <id> | refuse <id> | key]',
  description: `Lists tool calls that are waiting for a decision, and approves or refuses them. A
call waits if an \`ask\` rule matches it and the guard has \`approval: { ask: 'viewer' }\`.
\`retake ui\` shows these calls, too. A decision applies to exactly one call, and it expires.
\`key\` prints the public key for decisions made on this machine.`,
  options: {
    '--reason <text>': 'record a reason with the decision',
    ...DIR_OPTION,
    '--json': 'print one call per line as JSON',
  },
  examples: [
    'retake guard approvals',
    'retake guard approvals approve 3f2a9c01',
    `retake guard approvals refuse 3f2a9c01 --reason 'wrong customer'`,
  ],
  run(options, [what, id = '']) {
    const { store } = options
    const waiting = store
      .ids()
      .map((run) => store.pathOf(run))
      .flatMap((tape) => pendingApprovals(tape, Date.now()).map((each) => ({ ...each, tape })))
    if (what === 'key') {
      console.log(approvalPublicKey().trim())
      return 0
    }
    if (what === undefined) {
      const json = options.json
      const width = widthOf(process.stdout)
      if (json) for (const each of waiting) printJson(jsonOf(each))
      else if (waiting.length === 0) process.stderr.write('no call waits for approval\n')
      else console.log(waiting.map((each) => waitingLines(each, width).join('\n')).join('\n\n'))
      return 0
    }
    const approved = what === 'approve'
    // An empty id, as from an unset variable, must not match the only call.
    const matches = id === '' ? [] : waiting.filter(({ of }) => of.startsWith(id))
    const [found] = matches
    if (found === undefined || matches.length > 1) throw cliErrors.APPROVAL_NOT_PENDING(id)
    const reason = options.text('reason')
    const decision = { approved, by: userName(), ...(reason !== undefined && { reason }) }
    if (!decideApproval(found.tape, found.of, decision, Date.now()))
      throw cliErrors.APPROVAL_NOT_PENDING(id)
    if (options.json) printJson({ ...jsonOf(found), ...decision })
    else
      process.stderr.write(
        `${approved ? 'approved' : 'refused'}: ${printable(found.request.tool)} in run ${path.basename(found.tape, '.tape')}\n`,
      )
    return 0
  },
} satisfies Verb

interface Waiting extends PendingApproval {
  readonly tape: string
}

function waitingLines({ request, of, tape }: Waiting, width: number): string[] {
  const { tool, rule, why, args, expiresAt } = request
  return [
    `${of.slice(0, SHOWN)}  ${visibleText(tool)}`,
    `  run   ${path.basename(tape, '.tape')}`,
    `  rule  ${rule}, ${duration(expiresAt - Date.now())} left`,
    ...leadLines('  why   ', why, width),
    ...argumentLines(args, request.lastApproved).map((line) => `  ${line}`),
  ].map(printable)
}

const jsonOf = ({ request, of, tape }: Waiting): object => ({
  id: of,
  run: path.basename(tape, '.tape'),
  ...request,
})
