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
    `${tokens} tokens${beside(inputTokens)}`,
    `${duration(tookMs.known)}${beside(tookMs)}`,
    `${cost(costUsd.known)}${beside(costUsd)}`,
  ].join(' · ')
}

const beside = ({ unknown }: SavedFigure): string =>
  unknown === 0 ? '' : `, unknown of ${unknown}`
