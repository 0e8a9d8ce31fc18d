/** @param {readonly string[]} head @param {readonly (readonly string[])[]} lines @returns {string} */
export function textTable(head, lines) {
  const all = [head, ...lines]
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column].length)))
  return all
    .map((line) =>
      line
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export const percent = (share) => (share === undefined ? '' : (share * 100).toFixed(1))

export const bounds = ({ low, high }) => `[${percent(low)}, ${percent(high)}]`
