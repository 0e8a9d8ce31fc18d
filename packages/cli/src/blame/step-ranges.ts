/** Numbers in rising order as ranges: `0-4,7`. */
export function stepRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last !== undefined && number === last[1] + 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

/** The numbers that `stepRanges` has written. */
export function rangesToNumbers(text: string): number[] {
  if (text === '') return []
  return text.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}

/** Steps by what people call them: `1–5, 8`. */
export function labelRanges(indexes: readonly number[], labels: readonly string[]): string {
  const name = (text: string): string => labels[Number(text)] ?? '?'
  return stepRanges(indexes)
    .split(',')
    .map((range) => range.split('-').map(name).join('–'))
    .join(', ')
}
