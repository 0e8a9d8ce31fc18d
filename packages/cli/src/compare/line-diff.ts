/** A line of a difference: what it begins with says which side has it. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+' | '@'
  readonly text: string
}

const CONTEXT = 3
/** The most pairs of lines that are compared; beyond it the part that differs is shown as replaced. */
const MOST_PAIRS = 4_000_000

/** Two texts as a unified difference: changed lines, three around them, `@` where lines are left out. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const all = compare(linesOf(before), linesOf(after))
  const isNear = (index: number): boolean =>
    all.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' ')
  const shown: DiffLine[] = []
  let [a, b, isLeftOut] = [0, 0, true]
  for (const [index, line] of all.entries()) {
    if (line.sign !== '+') a += 1
    if (line.sign !== '-') b += 1
    if (!isNear(index)) isLeftOut = true
    else {
      if (isLeftOut) shown.push({ sign: '@', text: `@ line ${Math.max(a, 1)} → ${Math.max(b, 1)}` })
      isLeftOut = false
      shown.push(line)
    }
  }
  return shown
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function compare(a: readonly string[], b: readonly string[]): DiffLine[] {
  const most = Math.min(a.length, b.length)
  let start = 0
  while (start < most && a[start] === b[start]) start += 1
  let end = 0
  while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  return [
    ...a.slice(0, start).map((text) => ({ sign: ' ' as const, text })),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((text) => ({ sign: ' ' as const, text })),
  ]
}

/** By the longest common subsequence. */
function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const removed = a.map((text) => ({ sign: '-' as const, text }))
  const added = b.map((text) => ({ sign: '+' as const, text }))
  if (a.length * b.length > MOST_PAIRS) return [...removed, ...added]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i] ?? '' })
      i += 1
      j += 1
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push({ sign: '-', text: a[i++] ?? '' })
    else lines.push({ sign: '+', text: b[j++] ?? '' })
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)]
}
