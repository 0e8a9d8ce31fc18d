import { duration, localDateTime, plural } from '@retake/tape/present'
import { VisibleText } from '../step/text/visible-text.js'
import type { BlameView } from './blame-view.js'
import { spentFacts } from './spent-facts.js'

/** Reasons that are named; the rest are counted. */
const MOST = 10

/** What was asked, and what it took. */
export function SearchFacts({ view }: { readonly view: BlameView }) {
  const { at, oracle, facts, findings } = view.blame
  const { newForks, forcedAnswers, wallMs, undefinedBy, free } = facts
  const lines = [
    spentFacts(findings).join(', '),
    [
      ...(newForks === undefined ? [] : [`${plural(newForks, 'fork')} run for this search`]),
      ...(wallMs === undefined ? [] : [`in ${duration(wallMs)}`]),
      `ended ${localDateTime(at)}`,
    ].join(', '),
    ...(forcedAnswers === undefined || forcedAnswers === 0
      ? []
      : [
          `${plural(forcedAnswers, 'recorded answer')} given although the question had changed: an assumption.`,
        ]),
  ]
  return (
    <div className="flex flex-col gap-1">
      <p>
        <span className="text-muted">oracle</span>{' '}
        <code className="font-mono text-sm wrap-anywhere">
          <VisibleText text={oracle.slice(0, 2000)} />
        </code>
      </p>
      {free.length > 0 && (
        <p>
          <span className="text-muted">free steps</span>{' '}
          <code className="font-mono text-sm wrap-anywhere">
            <VisibleText text={free.join(', ').slice(0, 2000)} />
          </code>
        </p>
      )}
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {undefinedBy.length > 0 && (
        <ul aria-label="Forks without a verdict" className="text-muted">
          {undefinedBy.slice(0, MOST).map(({ reason, count }) => (
            <li key={reason}>
              {plural(count, 'fork')} without a verdict: <VisibleText text={reason.slice(0, 500)} />
            </li>
          ))}
          {undefinedBy.length > MOST && <li>and {undefinedBy.length - MOST} other reasons</li>}
        </ul>
      )}
    </div>
  )
}
