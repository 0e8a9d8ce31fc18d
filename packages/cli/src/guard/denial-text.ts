import type { GuardError } from '@retake/engine'

/** Why a call was stopped, as a model is told: code, what, why, and what would be allowed. */
export const denialText = ({ code, what, why, allowed }: GuardError): string =>
  `${code}: ${what} ${why} ${/^allowed\b/i.test(allowed) ? '' : 'Allowed: '}${allowed}`
