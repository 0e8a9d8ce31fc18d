import { clipText } from '@retake/tape'
import { plural } from '../facts.js'
import { plainText, plainValue } from '../plain-value.js'
import { printable } from '../printable.js'
import { table } from '../table.js'
import type { Look } from '../terminal.js'
import type { BackTest, ChangedCall } from './back-test.js'

/** What a policy would have changed, for a person. */
export function backTestLines(result: BackTest, look: Look): string[] {
  const { runs, calls, newlyBlocked, newlyAllowed } = result
  return [
    ...section('newly blocked', newlyBlocked, 'red', look),
    ...section('newly allowed', newlyAllowed, 'yellow', look),
    `${plural(calls, 'call')} in ${plural(runs, 'run')}: ${newlyBlocked.length} newly blocked, ${newlyAllowed.length} newly allowed`,
  ]
}

/** Verdict, then rule: what a narrow terminal leaves out. */
const SPARE = [2, 3]

function section(
  title: string,
  changed: readonly ChangedCall[],
  style: 'red' | 'yellow',
  { paint, width }: Look,
): string[] {
  if (changed.length === 0) return []
  const rows = changed.map(({ call, judgement }) => [
    `  ${call.run}`,
    `${call.isNested ? 'inside ' : ''}step ${call.step}`,
    judgement.verdict,
    judgement.rule ?? 'default',
    printable(`${call.tool}(${clipText(plainText(call.args), 80)})`),
  ])
  return [paint(style, title), ...table(rows, width, SPARE), '']
}

/** The same for programs. */
export const backTestJson = ({ newlyBlocked, newlyAllowed, ...counts }: BackTest): unknown => ({
  ...counts,
  newlyBlocked: newlyBlocked.map(changedJson),
  newlyAllowed: newlyAllowed.map(changedJson),
})

const changedJson = ({ call, judgement }: ChangedCall): unknown => ({
  run: call.run,
  step: call.step,
  ...(call.isNested && { isNested: true }),
  tool: call.tool,
  args: plainValue(call.args),
  was: call.status,
  verdict: judgement.verdict,
  rule: judgement.rule,
  code: judgement.denial?.code,
  why: judgement.denial?.why,
  allowed: judgement.denial?.allowed,
})
