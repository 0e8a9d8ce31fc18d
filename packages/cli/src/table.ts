/** Rows of plain text in columns two spaces apart; the last column is cut to fit the width. */
export function table(rows: readonly (readonly string[])[], width: number): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns - 1 }, (_, column) =>
    Math.max(...rows.map((row) => visibleLength(row[column] ?? ''))),
  )
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const columnWidth = widths[column]
      return columnWidth === undefined ? cell : cell + ' '.repeat(columnWidth - visibleLength(cell))
    })
    const lead = cells
      .slice(0, -1)
      .map((cell) => `${cell}  `)
      .join('')
    return (lead + cutTo(cells.at(-1) ?? '', width - visibleLength(lead))).trimEnd()
  })
}

const COLOUR = /\p{Cc}\[\d+m/gu
const visibleLength = (text: string): number => text.replace(COLOUR, '').length

/** Text cut to a length; painted text is left as it is. */
export function cutTo(text: string, length: number): string {
  return visibleLength(text) > length && length > 1 && !text.includes('\u001B')
    ? `${text.slice(0, length - 1)}…`
    : text
}
