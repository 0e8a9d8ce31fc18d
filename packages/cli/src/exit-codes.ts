/** The exit codes that mean something to scripts; an agent's own code is passed on as it is. */
export const WRONG_USAGE = 2
/** A divergence, a damaged tape, something not captured. */
export const FOUND = 3
export const CREDENTIALS_MISSING = 4
