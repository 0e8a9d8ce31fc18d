/**
 * One line of the table.
 *
 * @typedef {object} Row
 * @property {string} name What is divided by what.
 * @property {number} [ratio] Absent: it could not be measured, and `method` says why.
 * @property {{ max: number } | { min: number }} [gate] Absent: for information.
 * @property {string} method How it was measured, in one line.
 * @property {number} [attempts] How often it was measured when the first result missed the gate; the best one is shown.
 */

/** @typedef {'pass' | 'miss' | 'not measured' | 'info'} Verdict */

/** @param {Row} row @returns {Verdict} */
export function verdictOf({ ratio, gate }) {
  if (ratio === undefined || Number.isNaN(ratio)) return 'not measured'
  if (gate === undefined) return 'info'
  return ('max' in gate ? ratio <= gate.max : ratio >= gate.min) ? 'pass' : 'miss'
}

/** A gate that was not measured has not been passed. @param {Row} row */
export const isFine = (row) => row.gate === undefined || verdictOf(row) === 'pass'

/** The better of two measurements of the same line. @param {Row} first @param {Row} second @returns {Row} */
export function better(first, second) {
  if (first.gate === undefined || second.ratio === undefined) return first
  if (first.ratio === undefined) return second
  const secondWins = 'max' in first.gate ? second.ratio < first.ratio : second.ratio > first.ratio
  return secondWins ? second : first
}
