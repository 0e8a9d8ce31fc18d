import { DIR_OPTION, FOUND, type Verb, writeReport } from '@retake/runner/command-line'
import {
  fromHere,
  type Look,
  plainValue,
  printable,
  printableLine,
  type Style,
  tableLines,
  wrap,
  linesOf,
} from '@retake/runner/terminal'
import path from 'node:path'
import {
  attempt,
  errorName,
  clipText,
  driftText,
  type GuardedCallOnTape,
  type GuardOnTape,
  ACTED_TEXT,
  guardSavings,
  type GuardSavings,
  readGuards,
  type SavedFigure,
  type SignatureState,
  type Step,
  type Tape,
} from '@retake/tape'
import { createHash } from 'node:crypto'
import { cost, duration, localTime, plural } from '@retake/tape/present'
import { version } from '@retake/runner/package-root'
import { viewRun } from '@retake/runner/runs'

function callRemarks(call: AuditedCall): string[] {
  const { scope, state, verdict, code, why, error, isNested } = call
  const {
    approval,
    served,
    drift = [],
    blocked = [],
    attempts,
    exitReason,
    acted,
  } = call.facts ?? {}
  const isOtherCode = !blocked.some((what) => what.startsWith(`${code}: `))
  return linesOf(
    isNested && 'inside another call',
    served && `served from run ${served.run}, event ${served.seq}`,
    approval && approvalText(approval, code),
    exitReason && `stopped by ${exitReason}`,
    scope && `denied by scope ${scope.name}: ${scope.touched}`,
    state === 'denied' &&
      code !== undefined &&
      (scope || isOtherCode) &&
      `${code}${why === undefined ? '' : `: ${why}`}`,
    state === 'failed' && error,
    state === 'stopped' &&
      call.facts === undefined &&
      `the run was stopped ${verdict === 'ask' ? 'while it waited for approval' : 'before it started'}`,
    state === 'in doubt' && 'it was sent, and its answer was never recorded',
    ...blocked
      .filter((what) => what !== `${code}: ${scope?.touched}`)
      .map((what) => `refused: ${what}`),
    acted && ACTED_TEXT,
    ...drift.map(driftText),
    attempts !== undefined && attempts > 1 && `${attempts} attempts`,
  )
}

function approvalText(
  { how, by, reason }: NonNullable<NonNullable<GuardedCallOnTape['facts']>['approval']>,
  code: string | undefined,
): string {
  const what = how === 'break-glass' ? how : code === 'APPROVAL_REFUSED' ? 'refused' : 'approval'
  return `${what} by ${by} (${how})${reason === undefined ? '' : `: ${reason}`}`
}

type Audit = ReturnType<typeof auditRun>
type AuditedCall = ReturnType<typeof auditedCall>

/** Verifies the tape first. For a damaged tape, reports only where it breaks. */
export function auditRun(tape: Tape) {
  const { ok, count, digest, signature, key, problem } = tape.verify()
  const audited = {
    run: tape.run.id,
    name: tape.run.name,
    startedAt: tape.run.startedAt,
    ok: ok && signature !== 'invalid',
    events: count,
    /** Chain hash of the last event. */
    digest,
    seal: tape.status === 'sealed' ? 'sealed' : 'not sealed',
    signature,
    ...(key !== undefined && { key }),
    ...(problem && { problem }),
  }
  // Nothing else on a damaged tape can be relied on.
  const { guards, calls } = audited.ok ? readGuards(tape) : { guards: [], calls: [] }
  const steps = new Map(
    (audited.ok ? viewRun(tape).recordedSteps : []).map((step) => [step.seq, step]),
  )
  return {
    tape: audited,
    guards,
    calls: calls.map((call) => auditedCall(tape, call, steps.get(call.callSeq))),
    savings: guardSavings(calls),
  }
}

/** One guarded call: who did what, under which rule, with which outcome. */
function auditedCall(tape: Tape, call: GuardedCallOnTape, step: Step | undefined) {
  const { intent, error } = call
  const scope = deniedByScope(call)
  return {
    number: intent.call,
    /** Missing for a nested call. */
    step: step?.label,
    event: call.callSeq,
    startedAt: tape.run.startedAt + call.at,
    guard: intent.guard,
    within: step?.within.map(({ name }) => name) ?? [],
    isNested: call.isNested,
    tool: call.tool,
    // Too deep to be walked through, or of a newer version.
    args: plainValue(attempt(() => call.args(), '(cannot be shown)')),
    state: call.state,
    /** Also `deny` if the rules allowed the call but a scope denied it. */
    verdict: scope ? ('deny' as const) : intent.verdict,
    rule: scope?.name ?? intent.rule ?? 'default',
    ...(scope && { scope }),
    policy: intent.policy,
    fingerprint: intent.fingerprint,
    occurrence: intent.occurrence,
    site: call.site,
    code: codeOf(call),
    why: intent.why,
    error: error && `${errorName(error)}: ${error.message}`,
    facts: call.facts,
  }
}

/** Names of scopes: of a policy, of a tool, and of the guard itself. */
const SCOPE = /\/(?:files|network|shell|effects|own-files)$/

/** A call may pass every rule and still be denied for its arguments or its effects. */
function deniedByScope({
  state,
  error,
}: GuardedCallOnTape): { readonly name: string; readonly touched: string } | undefined {
  const { rule, what } = error?.props ?? {}
  if (state !== 'denied' || error?.name !== 'GuardError') return undefined
  if (typeof rule !== 'string' || !SCOPE.test(rule)) return undefined
  return { name: rule, touched: typeof what === 'string' ? what : error.message }
}

/** If a call needed approval, the decision is the reason, not the rule's own code. */
function codeOf({ intent, state, error }: GuardedCallOnTape): string | undefined {
  const own = error?.code === undefined ? undefined : String(error.code)
  if (intent.verdict !== 'ask') return intent.code ?? own
  return own ?? (state === 'denied' ? intent.code : undefined)
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --muted: #767676 }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { font-size: 1.25rem } h2 { font-size: 1rem; margin-top: 2rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 }
dt { color: var(--muted) } dd { margin: 0; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem .35rem 0; text-align: left; vertical-align: top }
code, dd { font-family: ui-monospace, monospace; font-size: .9em }
pre { margin: 0; max-width: 34rem; overflow-wrap: anywhere; white-space: pre-wrap; font-size: .9em }
.bad { color: #b42318; font-weight: 600 } .good { color: #067647; font-weight: 600 } .warn { color: #93590a; font-weight: 600 }
@media (prefers-color-scheme: dark) { .bad { color: #ff9c8f } .good { color: #6ce0a8 } .warn { color: #f2c266 } :root { --muted: #a3a3a3 } }
`

/** An audit as a page without scripts. Text from tapes is escaped. */
function auditHtml({ tape, guards, calls, savings }: Audit): string {
  const saved = savingsLine(savings)
  const digest = createHash('sha256').update(STYLE).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${digest}'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="generator" content="retake guard audit ${escape(version())}">
<title>Audit of run ${escape(tape.run)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Audit of run ${escape(tape.run)}</h1>
${facts([
  ['name', tape.name],
  ['started', new Date(tape.startedAt).toISOString()],
  ['events', String(tape.events)],
  ['digest', tape.digest],
  ['seal', `${tape.seal}, ${SIGNATURES[tape.signature]}`],
  ...(tape.key === undefined ? [] : [['signed by', tape.key] as const]),
])}
<p class="${tape.ok ? 'good' : 'bad'}">${tape.ok ? 'Verified: every event is as it was recorded.' : `Not verified: ${escape(tape.problem ? `event ${tape.problem.seq}: ${tape.problem.message}` : 'the signature does not fit')}. Nothing of this tape is shown.`}</p>
${guards
  .map(
    (guard) => `<h2>Guard ${escape(guard.guard)}</h2>
${facts(guardFacts(guard))}
<details><summary>The policy as it was</summary><pre>${escape(JSON.stringify(guard.policy.policies, undefined, 2))}</pre></details>`,
  )
  .join('\n')}
<h2>${escape(countLine(calls))}</h2>
${saved === undefined ? '' : `<p>${escape(saved)}</p>`}
<table>
<thead><tr><th scope="col">Step</th><th scope="col">Time</th><th scope="col">State</th><th scope="col">Rule</th><th scope="col">Call</th><th scope="col">Remarks</th></tr></thead>
<tbody>
${calls.map(row).join('\n')}
</tbody>
</table>
</body>
</html>
`
}

const facts = (pairs: readonly (readonly [string, string])[]): string =>
  `<dl>${pairs.map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join('')}</dl>`

function row(call: AuditedCall): string {
  const { step, event, startedAt, state, rule, policy, within, tool, args } = call
  const cells = [
    escape(step ?? `e${event}`),
    escape(new Date(startedAt).toISOString()),
    `<span class="${STATES[state].class}">${escape(call.facts?.served ? 'served' : state)}</span>`,
    `${escape(rule)}<br><code>${escape(policy)}</code>`,
    `${escape([...within, tool].join(' › '))}<pre>${escape(JSON.stringify(args, undefined, 1) ?? '')}</pre>`,
    callRemarks(call).map(escape).join('<br>'),
  ]
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

const escape = (text: string): string =>
  printable(text).replaceAll(/["&'<>]/g, (char) => `&#${char.charCodeAt(0)};`)

function auditLines({ tape, guards, calls, savings }: Audit, look: Look): string[] {
  if (!tape.ok) return tapeLines(tape, look)
  const saved = savingsLine(savings)
  return [
    ...tapeLines(tape, look),
    ...guards.flatMap((guard) => [
      '',
      `guard      ${printableLine(guard.guard)}`,
      ...guardFacts(guard).map(([name, value]) => `${name.padEnd(9)}  ${printableLine(value)}`),
    ]),
    '',
    ...(calls.length === 0 ? ['No guarded call is on this tape.'] : callLines(calls, look)),
    '',
    countLine(calls),
    ...(saved === undefined ? [] : wrap(saved, look.width)),
  ]
}

function tapeLines(tape: Audit['tape'], { paint }: Look): string[] {
  const { run, name, ok, events, digest, seal, signature, key, problem } = tape
  const verdict = ok
    ? `${paint('green', 'verified')}  ${plural(events, 'event')}, digest ${digest.slice(0, 16)}…, ${seal}, ${SIGNATURES[signature]}`
    : `${paint('red', 'NOT VERIFIED')}  ${problem ? `event ${problem.seq}: ${problem.message}` : 'the signature does not fit'}`
  return [
    `${paint('bold', `audit of run ${run}`)}  ${printableLine(name)}`,
    verdict,
    ...(key === undefined ? [] : [`signed by  ${key}`]),
    ...(ok ? [] : ['This tape cannot be relied on, so nothing of it is shown.']),
  ]
}

const SIGNATURES: Readonly<Record<SignatureState, string>> = {
  none: 'not signed',
  valid: 'signature valid',
  invalid: 'SIGNATURE INVALID',
  unchecked: 'signature not checked',
}

function guardFacts({ policy, environment, resumes = [] }: GuardOnTape): [string, string][] {
  const { node, platform, retake, git, lockfile } = environment
  const names = policy.policies.map((each) => (each as { name?: string }).name ?? '?').join(', ')
  const versions = Object.entries(retake).map(([name, version]) => `${name} ${version}`)
  const branch = git?.branch === undefined ? '' : ` on ${git.branch}`
  return [
    ['policy', `${names === '' ? 'none' : names}  ${policy.hash}`],
    ['ran on', [`Node ${node.replace(/^v/, '')}`, platform, ...versions].join(', ')],
    ...(git ? [['code', `${git.revision}${branch}`] as [string, string]] : []),
    ...(lockfile ? [['lock file', `${lockfile.name} ${lockfile.sha256}`] as [string, string]] : []),
    ...resumes.map(({ run }): [string, string] => ['resumes', `run ${run}`]),
  ]
}

function callLines(calls: readonly AuditedCall[], { paint, width }: Look): string[] {
  const rows = calls.map((call) => [
    call.step ?? '',
    localTime(call.startedAt),
    paint(STATES[call.state].style, call.facts?.served ? 'served' : call.state),
    call.rule,
    printable(
      `${[...call.within, call.tool].join(' › ')}(${clipText(JSON.stringify(call.args) ?? '', 120)})`,
    ),
  ])
  const lines = tableLines([['step', 'time', 'state', 'rule', 'call'], ...rows], width, SPARE)
  return lines.flatMap((line, index) => {
    const call = calls[index - 1]
    if (call === undefined) return [paint('dim', line)]
    const remarks = callRemarks(call).flatMap((remark) => wrap(printable(remark), width - 8))
    return [line, ...remarks.map((remark) => paint('dim', `        ${remark}`))]
  })
}

/** Columns dropped on a narrow terminal: the time. */
const SPARE = [1]

/** Styles of states in the terminal and on the page. */
const STATES = {
  done: { style: 'green', class: 'good' },
  denied: { style: 'red', class: 'bad' },
  failed: { style: 'red', class: 'bad' },
  stopped: { style: 'yellow', class: 'warn' },
  'in doubt': { style: 'yellow', class: 'warn' },
} as const satisfies Record<GuardedCallOnTape['state'], { style: Style; class: string }>

function countLine(calls: readonly AuditedCall[]): string {
  const count = (state: AuditedCall['state']) => calls.filter((call) => call.state === state).length
  const served = calls.filter(({ facts }) => facts?.served !== undefined).length
  const states = (Object.keys(STATES) as AuditedCall['state'][])
    .map((state) => [count(state), state] as const)
    .filter(([many]) => many > 0)
    .map(([many, state]) => `${many} ${state}`)
  return [
    plural(calls.length, 'call'),
    ...states,
    ...(served > 0 ? [`${served} of them served`] : []),
  ].join(', ')
}

function savingsLine(savings: GuardSavings): string | undefined {
  const { calls, served, stopped, inputTokens, outputTokens, costUsd, tookMs } = savings
  if (calls === 0) return undefined
  const tokens = inputTokens.known + outputTokens.known
  const how = [
    ...(served > 0 ? [`${served} served`] : []),
    ...(stopped > 0 ? [`${stopped} stopped or denied`] : []),
  ]
  return [
    `saved ${plural(calls, 'call')} (${how.join(', ')})`,
    figure('tokens', `${tokens} tokens`, inputTokens),
    figure('time', duration(tookMs.known), tookMs),
    figure('cost', cost(costUsd.known), costUsd),
  ].join(' · ')

  function figure(name: string, known: string, { unknown }: SavedFigure): string {
    if (unknown === calls) return `${name} unknown`
    return unknown === 0 ? known : `${known}, unknown of ${unknown}`
  }
}

export default {
  arguments: '<run>',
  description: `Verifies the tape first: chain, seal and signature. Then lists every guarded call:
when, by which agent, with which arguments, which rule decided, who approved it, and its outcome.
Calls in doubt are marked. If the tape was changed, nothing is listed, and the exit code is 3.`,
  options: {
    '--html <file>': 'write an HTML page without scripts',
    ...DIR_OPTION,
  },
  examples: ['retake guard audit last', 'retake guard audit last --html audit.html'],
  run(options, [name = '']) {
    const audited = auditRun(options.openRun(name))
    const file = options.text('html')
    if (file !== undefined) {
      writeReport(path.resolve(file), auditHtml(audited))
      process.stderr.write(`written to ${fromHere(path.resolve(file))}\n`)
    }
    if (options.json || file === undefined)
      options.print(audited, (look) => auditLines(audited, look))
    return audited.tape.ok ? 0 : FOUND
  },
} satisfies Verb
