import type { GuardSavings, SavedFigure } from '@retake/tape'
import { duration } from '../duration.js'
import { cost, plural } from '../facts.js'

/** What serving results and stopping early have saved, in a line; undefined when nothing did. */
export function savingsLine({
  calls,
  served,
  stopped,
  inputTokens,
  outputTokens,
  costUsd,
  tookMs,
}: GuardSavings): string | undefined {
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
