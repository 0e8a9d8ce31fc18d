import { cost, count, duration, localTime, plural } from '@retake/tape/present'
import type { BranchNodeView } from '../../api/branch-view.js'
import { Facts } from '../design/facts.js'

/** What a branch saved and paid, how large it is, and when it was. What is not known is left out. */
export function BranchFacts({ node }: { readonly node: BranchNodeView }) {
  const { facts, steps, startedAt, durationMs, costUsd } = node
  return (
    <Facts
      className="text-sm"
      facts={[
        { label: 'steps', value: steps === undefined ? undefined : count(steps) },
        {
          label: 'saved',
          value: facts && amount(facts.savedRequests, facts.savedUsd),
          title: facts && `${plural(facts.served, 'step')} served from its parent`,
        },
        {
          label: facts === undefined ? 'cost' : 'paid',
          value:
            facts === undefined
              ? costUsd === undefined
                ? undefined
                : cost(costUsd)
              : amount(facts.paidRequests, facts.paidUsd),
          title: facts && `${plural(facts.live, 'step')} live`,
        },
        { label: 'lost', value: facts && facts.lost > 0 ? count(facts.lost) : undefined },
        { label: 'took', value: durationMs === undefined ? undefined : duration(durationMs) },
        {
          label: 'when',
          value:
            startedAt === undefined ? undefined : (
              <time dateTime={new Date(startedAt).toISOString()}>{localTime(startedAt)}</time>
            ),
        },
      ]}
    />
  )
}

/** Requests, and what they cost; it is said where a price is not known. */
const amount = (requests: number, usd: number | undefined): string =>
  requests === 0
    ? plural(requests, 'request')
    : `${plural(requests, 'request')} · ${usd === undefined ? 'cost unknown' : cost(usd)}`
