import type { Drift } from './guard-facts.js'

/** One way in which an answer is not what was promised, in a line. */
export const driftText = ({ code, path, expected, found }: Drift): string =>
  `${code}${path === '' ? '' : ` at ${path}`}: expected ${expected}, found ${found}`
