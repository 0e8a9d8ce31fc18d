/**
 * More broken agents in the format of `unseen.mjs`, written by a third examiner who had read what
 * `docs/fix.md` promises, but no rule and no earlier agent. Change a rule for a whole class of
 * failures, never for one of these agents.
 */
import { CODE } from './unseen-3/code.mjs'
import { CONVERSATIONS } from './unseen-3/conversations.mjs'
import { OTHERS } from './unseen-3/others.mjs'
import { POLICY } from './unseen-3/policy.mjs'
import { TOOLS } from './unseen-3/tools.mjs'
import { TRANSPORT } from './unseen-3/transport.mjs'

/** @type {readonly (import('./unseen.mjs').UnseenAnimal & { expect: string })[]} */
export const UNSEEN_3 = [
  ...TRANSPORT,
  ...POLICY,
  ...TOOLS,
  ...CONVERSATIONS,
  ...CODE,
  ...OTHERS,
].map((animal) => ({ expect: 'fixed', ...animal }))
