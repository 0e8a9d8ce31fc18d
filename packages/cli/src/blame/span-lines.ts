import type { SpanFindings } from '@retake/tape'
import { plural } from '../facts.js'
import { printable } from '../printable.js'
import { table } from '../table.js'
import type { Look } from '../terminal.js'
import { wrap } from '../wrap.js'
import { bar, rateText } from './rate-text.js'

/** Which words of what a model was asked mattered, for a person. */
export function spanLines(found: SpanFindings, { paint, width }: Look): string[] {
  const { step, verdict, why, messages, spans, forks, notes } = found
  const told = (text: string): string[] =>
    wrap(printable(text), width - 4).map((line, index) =>
      index === 0 ? `  ${line}` : `    ${line}`,
    )
  const rows = messages.map(({ path, speaker, role, rate }) => [
    `  ${path}`,
    speaker,
    role,
    bar(rate, 10),
    rate === undefined ? '' : rateText(rate),
  ])
  return [
    '',
    paint('bold', `what step ${step} was asked, ${plural(forks.asked, 'fork')}`),
    ...(verdict === 'attributed' ? [] : told(`${verdict}: ${why ?? 'nothing stands out'}`)),
    ...table(rows, width),
    ...spans.flatMap(({ path, role, excerpt }) => told(`${role} in ${path}: "${excerpt}"`)),
    ...notes.flatMap(told),
  ]
}
