/** Less room than this is none for the last column, unless it needs less. */
const LAST_MIN = 12

/**
 * Rows of plain text in columns two spaces apart; the last column is cut to fit the width.
 * Where it would have no room, columns that can be spared are left out, in the order given.
 * A row is one line, whatever its cells hold.
 */
export function table(
  rows: readonly (readonly string[])[],
  width: number,
  spare: readonly number[] = [],
): string[] {
  const flat = rows.map((row) => row.map((cell) => cell.replaceAll('\n', String.raw`\n`)))
  return fitted(flat, width, spare)
}

function fitted(
  rows: readonly (readonly string[])[],
  width: number,
  spare: readonly number[],
): string[] {
  const [first, ...others] = spare
  if (first === undefined || roomForLast(rows, width) >= 0) return columnsOf(rows, width)
  const without = rows.map((row) => row.filter((_, column) => column !== first))
  const moved = others.map((column) => (column > first ? column - 1 : column))
  return fitted(without, width, moved)
}

/** What is left when the last column has what it needs; negative when it lacks room. */
function roomForLast(rows: readonly (readonly string[])[], width: number): number {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  let room = width
  for (let column = 0; column < columns - 1; column += 1)
    room -= Math.max(...rows.map((row) => visibleLength(row[column] ?? ''))) + 2
  const needed = Math.max(...rows.map((row) => visibleLength(row[columns - 1] ?? '')))
  return room - Math.min(needed, LAST_MIN)
}

function columnsOf(rows: readonly (readonly string[])[], width: number): string[] {
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
