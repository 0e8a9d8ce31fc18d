import { diffWords, unmarked, type DiffLine } from '@retake/tape/present'
import type { ComparedLine } from '../../api/run-comparison.js'
import { LineDiff } from './text-diff.js'

export interface ComparedPrintsProps {
  readonly lines: readonly ComparedLine[]
  readonly names: readonly [a: string, b: string]
}

/** Lines that differ in what the two runs printed. */
export function ComparedPrints({ lines, names }: ComparedPrintsProps) {
  return (
    <section
      aria-label="Console"
      data-difference
      tabIndex={-1}
      className="scroll-mt-2 rounded focus:ring-1 focus:ring-accent"
    >
      <h2 className="mb-1 text-lg">Console</h2>
      <div className="flex flex-col gap-2">
        {(['stdout', 'stderr'] as const).map((stream) => {
          const printed = lines.filter((line) => line.stream === stream)
          if (printed.length === 0) return null
          return (
            <LineDiff
              key={stream}
              what={stream}
              note="only lines that differ"
              lines={printed.map(lineOf)}
              names={names}
            />
          )
        })}
      </div>
    </section>
  )
}

function lineOf({ a, b }: ComparedLine): DiffLine {
  if (a !== undefined && b !== undefined) {
    const parts = diffWords(a.text, b.text)
    return {
      kind: 'changed',
      a: { number: a.line, parts: parts.a },
      b: { number: b.line, parts: parts.b },
    }
  }
  return {
    kind: a === undefined ? 'added' : 'removed',
    ...(a && { a: { number: a.line, parts: [unmarked(a.text)] } }),
    ...(b && { b: { number: b.line, parts: [unmarked(b.text)] } }),
  }
}
