import { createHash } from 'node:crypto'
import { printable } from '../printable.js'
import { version } from '../version.js'
import { countLine, SIGNATURES } from './audit-lines.js'
import type { Audit, AuditedCall } from './audit-run.js'
import { callRemarks } from './call-remarks.js'
import { savingsLine } from './savings-line.js'

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

/** An audit as one page without any script: text from tapes is text in it. */
export function auditHtml({ tape, guards, calls, savings }: Audit): string {
  const saved = savingsLine(savings)
  const digest = createHash('sha256').update(STYLE).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${digest}'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="generator" content="retake audit ${escape(version())}">
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
<p class="${tape.ok ? 'good' : 'bad'}">${tape.ok ? 'Verified: every event is as it was recorded.' : `Not verified: ${escape(tape.problem ? `event ${tape.problem.seq}: ${tape.problem.message}` : 'the signature does not fit')}. Nothing of this tape is told.`}</p>
${guards
  .map(
    ({
      guard,
      policy: { hash, policies },
      environment,
      resumes = [],
    }) => `<h2>Guard ${escape(guard)}</h2>
${facts([
  ['policy', hash],
  ['node', environment.node],
  ['platform', environment.platform],
  ...Object.entries(environment.retake),
  ...(environment.git
    ? [
        [
          'code',
          `${environment.git.revision}${environment.git.dirty === true ? ', with changes' : ''}`,
        ] as const,
      ]
    : []),
  ...(environment.lockfile
    ? [['lock file', `${environment.lockfile.name} ${environment.lockfile.sha256}`] as const]
    : []),
  ...resumes.map(({ run }) => ['resumes', run] as const),
])}
<details><summary>The policy as it was</summary><pre>${escape(JSON.stringify(policies, undefined, 2))}</pre></details>`,
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

const CLASSES: Readonly<Record<AuditedCall['state'], string>> = {
  done: 'good',
  denied: 'bad',
  failed: 'bad',
  stopped: 'warn',
  'in doubt': 'warn',
}

function row(call: AuditedCall): string {
  const { step, event, startedAt, state, rule, policy, within, tool, args } = call
  const cells = [
    escape(step ?? `e${event}`),
    escape(new Date(startedAt).toISOString()),
    `<span class="${CLASSES[state]}">${escape(call.facts?.served ? 'served' : state)}</span>`,
    `${escape(rule)}<br><code>${escape(policy)}</code>`,
    `${escape([...within, tool].join(' › '))}<pre>${escape(JSON.stringify(args, undefined, 1) ?? '')}</pre>`,
    callRemarks(call).map(escape).join('<br>'),
  ]
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

const escape = (text: string): string =>
  printable(text).replaceAll(/["&'<>]/g, (char) => `&#${char.charCodeAt(0)};`)
