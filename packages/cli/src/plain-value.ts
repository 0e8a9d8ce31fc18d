import { plainJson, toWire } from '@retake/tape'

/** Any value that was recorded, as JSON can say it: a BigInt as text, a Map as a list of pairs. */
export const plainValue = (value: unknown): unknown => plainJson(toWire(value))

/** The same on one line. */
export const plainText = (value: unknown): string => JSON.stringify(plainValue(value)) ?? ''
