/**
 * Whether a value fits a condition: no, cannot be told, or yes. Deny and ask hold
 * for what cannot be told, allow does not.
 */
export type Fit = 0 | 1 | 2

export const NO = 0
export const UNTOLD = 1
export const YES = 2

/** How far a value fits. */
export type FitTest = (value: unknown) => Fit

export const fitIf = (holds: boolean): Fit => (holds ? YES : NO)
export const notFit = (fit: Fit): Fit => (2 - fit) as Fit
