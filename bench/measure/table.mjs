import { verdictOf } from './row.mjs'

/** @param {readonly import('./row.mjs').Row[]} rows @returns {string} */
export function formatTable(rows) {
  const cells = rows.map((row) => [
    row.name,
    row.ratio === undefined ? '–' : formatRatio(row.ratio),
    formatGate(row.gate),
    verdictOf(row) + (row.attempts > 1 ? ` (best of ${row.attempts})` : ''),
    row.method,
  ])
  const all = [['ratio', 'value', 'gate', '', 'method'], ...cells]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((line) => line[column].length)))
  return all
    .map(([name, ratio, gate, verdict, method]) =>
      [
        name.padEnd(widths[0]),
        ratio.padStart(widths[1]),
        gate.padEnd(widths[2]),
        verdict.padEnd(widths[3]),
        method,
      ].join('  '),
    )
    .join('\n')
}

/** For bench/notes/benchmarks.md. @param {readonly import('./row.mjs').Row[]} rows @returns {string} */
export function formatMarkdown(rows) {
  const lines = rows.map((row) => {
    const value = row.ratio === undefined ? '–' : formatRatio(row.ratio)
    const notes = [
      ...(verdictOf(row) === 'miss' ? ['missed'] : []),
      ...(row.attempts > 1 ? [`best of ${row.attempts}`] : []),
    ]
    return `| ${row.name} | ${formatGate(row.gate) || '–'} | ${[value, ...notes].join(', ')} |`
  })
  return ['| Ratio | Gate | Value |', '|---|---|---|', ...lines].join('\n')
}

/** Three digits that count; whole numbers as they are. @param {number} ratio */
function formatRatio(ratio) {
  if (Number.isInteger(ratio)) return String(ratio)
  return ratio >= 100 ? ratio.toFixed(0) : String(Number(ratio.toPrecision(3)))
}

/** @param {import('./row.mjs').Row['gate']} gate */
function formatGate(gate) {
  if (gate === undefined) return ''
  return 'max' in gate ? `≤ ${gate.max}` : `≥ ${gate.min}`
}
