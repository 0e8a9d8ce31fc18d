import type { Row } from './step-rows.js'

/** A row of which no more is known than its label. */
export const blankRow = (label: string): Row => ({
  label,
  seq: 0,
  kind: 'tool',
  state: 'done',
  badge: 'live',
  title: '',
  at: 0,
  latencyMs: undefined,
  lane: 0,
  provider: undefined,
  model: undefined,
  tool: undefined,
  tokensIn: undefined,
  tokensOut: undefined,
  costUsd: undefined,
  error: undefined,
  parent: undefined,
  within: [],
  inferred: false,
})
