import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import type { Explained, Job } from '@retake/web'
import type { Continued } from '../../continue-agent.js'
import { continuedFacts } from '../../continued-lines.js'
import { cost, plural } from '../../facts.js'
import { divergenceView } from './divergence-view.js'
import { factsView } from './facts-view.js'

/** What a fork or rerun came to, when its process has ended. */
export type JobOutcome = Pick<
  Job,
  'state' | 'written' | 'identical' | 'exit' | 'facts' | 'error' | 'divergence' | 'summary'
>

export function jobOutcome(parent: Tape, continued: Continued): JobOutcome {
  const { divergences, isLive, left, code, signal } = continued
  const exit = { code, ...(signal && { signal }) }
  const [divergence] = divergences
  if (divergence !== undefined) {
    const view = divergenceView(parent, divergence)
    const where = view.step === undefined ? '' : `, step ${view.step}`
    return {
      state: 'failed',
      written: isLive,
      exit,
      divergence: view,
      error: divergenceError(parent.run.id, view, isLive),
      summary: `diverged at event ${view.seq}${where}: ${view.summary}`,
    }
  }
  if (!isLive)
    return {
      state: 'done',
      written: false,
      identical: true,
      exit,
      summary: 'identical: everything was served, nothing differs, so there is no branch',
    }
  const facts = factsView(continuedFacts(parent, continued, openTape(continued.tape)))
  const end = signal ? `killed by ${signal}` : `exit code ${code}`
  return {
    state: 'done',
    written: true,
    exit,
    facts,
    ...(left && { divergence: divergenceView(parent, left) }),
    summary: [
      end,
      `${facts.served} served, ${facts.live} live`,
      `saved ${sumOf(facts.savedRequests, facts.savedUsd)}`,
      `paid ${sumOf(facts.paidRequests, facts.paidUsd)}`,
      ...(facts.lost > 0 ? [`${plural(facts.lost, 'step')} lost`] : []),
    ].join(' · '),
  }
}

const sumOf = (requests: number, usd: number | undefined): string =>
  `${plural(requests, 'request')}${usd === undefined ? '' : ` (${cost(usd)})`}`

function divergenceError(
  parent: string,
  { seq, summary, explanation }: NonNullable<Job['divergence']>,
  isLive: boolean,
): Explained {
  return isLive
    ? {
        code: 'OFFLINE_TAIL_ENDED',
        what: `The branch asks for something that its parent has no answer to: ${summary}.`,
        why: explanation,
        fix: 'Fork with a live tail to ask it, or change the edit. The branch holds what could be served.',
      }
    : {
        code: 'REPLAY_DIVERGED',
        what: `The part before the fork diverged at event ${seq}: ${summary}.`,
        why: `${explanation} The code has changed since run ${parent} was recorded, or something is not captured.`,
        fix: 'Undo the change, or rerun: that goes live where it differs. Nothing was asked and nothing was recorded.',
      }
}
