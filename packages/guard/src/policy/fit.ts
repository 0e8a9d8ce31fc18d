/**
 * How well a value fits a condition: no, unknown or yes. Deny and ask rules also apply to unknown;
 * allow rules do not.
 */
export type Fit = 0 | 1 | 2

export const NO = 0
export const UNKNOWN = 1
export const YES = 2

export type FitTest = (value: unknown) => Fit

export const fitIf = (matches: boolean): Fit => (matches ? YES : NO)
export const notFit = (fit: Fit): Fit => (2 - fit) as Fit
