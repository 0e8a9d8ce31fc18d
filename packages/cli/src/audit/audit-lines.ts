import { clipText, type GuardOnTape } from '@retake/tape'
import { localTime, plural } from '../facts.js'
import { printable, printableLine } from '../printable.js'
import { table } from '../table.js'
import type { Look, Style } from '../terminal.js'
import { wrap } from '../wrap.js'
import type { Audit, AuditedCall, AuditedTape } from './audit-run.js'
import { callRemarks } from './call-remarks.js'
import { savingsLine } from './savings-line.js'

/** An audit for a person, the verified tape first. */
export function auditLines({ tape, guards, calls, savings }: Audit, look: Look): string[] {
  if (!tape.ok) return tapeLines(tape, look)
  const saved = savingsLine(savings)
  return [
    ...tapeLines(tape, look),
    ...guards.flatMap((guard) => guardLines(guard)),
    '',
    ...(calls.length === 0 ? ['No guarded call is on this tape.'] : callLines(calls, look)),
    '',
    countLine(calls),
    ...(saved === undefined ? [] : wrap(saved, look.width)),
  ]
}

function tapeLines(tape: AuditedTape, { paint }: Look): string[] {
  const { run, name, ok, events, digest, seal, signature, key, problem } = tape
  const verdict = ok
    ? `${paint('green', 'verified')}  ${plural(events, 'event')}, digest ${digest.slice(0, 16)}…, ${seal}, ${SIGNATURES[signature]}`
    : `${paint('red', 'NOT VERIFIED')}  ${problem ? `event ${problem.seq}: ${problem.message}` : 'the signature does not fit'}`
  return [
    `${paint('bold', `audit of run ${run}`)}  ${printableLine(name)}`,
    verdict,
    ...(key === undefined ? [] : [`signed by  ${key}`]),
    ...(ok ? [] : ['Nothing on this tape can be relied on, so nothing of it is told.']),
  ]
}

export const SIGNATURES: Readonly<Record<AuditedTape['signature'], string>> = {
  none: 'not signed',
  valid: 'signature valid',
  invalid: 'SIGNATURE INVALID',
  unchecked: 'signature not checked',
}

function guardLines({ guard, policy, environment, resumes = [] }: GuardOnTape): string[] {
  const { node, platform, retake, git, lockfile } = environment
  const names = policy.policies.map((each) => (each as { name?: string }).name ?? '?').join(', ')
  return [
    '',
    `guard      ${printableLine(guard)}`,
    `policy     ${names === '' ? 'none' : names}  ${policy.hash}`,
    `ran on     Node ${node.replace(/^v/, '')}, ${platform}, retake ${Object.values(retake)[0] ?? '?'}`,
    ...(git
      ? [
          `code       ${git.revision.slice(0, 12)}${git.branch === undefined ? '' : ` on ${git.branch}`}${git.dirty === true ? ', with changes' : ''}`,
        ]
      : []),
    ...(lockfile ? [`lock file  ${lockfile.name} ${lockfile.sha256.slice(0, 16)}…`] : []),
    ...resumes.map(({ run }) => `resumes    run ${run}`),
  ]
}

function callLines(calls: readonly AuditedCall[], { paint, width }: Look): string[] {
  const rows = calls.map((call) => [
    call.step ?? '',
    localTime(call.startedAt),
    paint(STYLES[call.state], call.facts?.served ? 'served' : call.state),
    call.rule,
    printable(
      `${[...call.within, call.tool].join(' › ')}(${clipText(JSON.stringify(call.args) ?? '', 120)})`,
    ),
  ])
  const lines = table([['step', 'time', 'state', 'rule', 'call'], ...rows], width, SPARE)
  return lines.flatMap((line, index) => {
    const call = calls[index - 1]
    if (call === undefined) return [paint('dim', line)]
    const remarks = callRemarks(call).flatMap((remark) => wrap(printable(remark), width - 8))
    return [line, ...remarks.map((remark) => paint('dim', `        ${remark}`))]
  })
}

/** When it was: what a narrow terminal leaves out. */
const SPARE = [1]

const STYLES: Readonly<Record<AuditedCall['state'], Style>> = {
  done: 'green',
  denied: 'red',
  failed: 'red',
  stopped: 'yellow',
  'in doubt': 'yellow',
}

export function countLine(calls: readonly AuditedCall[]): string {
  const count = (state: AuditedCall['state']) => calls.filter((call) => call.state === state).length
  const served = calls.filter(({ facts }) => facts?.served !== undefined).length
  const states = (['done', 'denied', 'failed', 'stopped', 'in doubt'] as const)
    .map((state) => [count(state), state] as const)
    .filter(([many]) => many > 0)
    .map(([many, state]) => `${many} ${state}`)
  return [
    plural(calls.length, 'call'),
    ...states,
    ...(served > 0 ? [`${served} of them served`] : []),
  ].join(', ')
}
