/**
 * More broken agents in the format of `unseen.mjs`, written later by somebody else who had read no
 * rule either. Change a rule for a whole class of failures, never for one of these agents.
 */
import { CODE } from './unseen-2/code.mjs'
import { CONVERSATIONS } from './unseen-2/conversations.mjs'
import { OTHERS } from './unseen-2/others.mjs'
import { POLICY } from './unseen-2/policy.mjs'
import { TOOLS } from './unseen-2/tools.mjs'
import { TRANSPORT } from './unseen-2/transport.mjs'

/** @type {readonly (import('./unseen.mjs').UnseenAnimal & { expect: string })[]} */
export const UNSEEN_2 = [
  ...TRANSPORT,
  ...POLICY,
  ...TOOLS,
  ...CONVERSATIONS,
  ...CODE,
  ...OTHERS,
].map((animal) => ({ expect: 'fixed', ...animal }))
