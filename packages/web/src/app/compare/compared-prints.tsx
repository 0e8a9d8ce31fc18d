import type { ComparedLine } from '../../api/home.js'
import { TextDiff } from './text-diff.js'

export interface ComparedPrintsProps {
  readonly lines: readonly ComparedLine[]
  readonly names: readonly [a: string, b: string]
}

/** Lines that differ in what the two runs printed. */
export function ComparedPrints({ lines, names }: ComparedPrintsProps) {
  return (
    <section aria-label="Console" data-difference tabIndex={-1} className="scroll-mt-2">
      <h2 className="mb-1 text-lg">Console</h2>
      <div className="flex flex-col gap-2">
        {(['stdout', 'stderr'] as const).map((stream) => {
          const of = lines.filter((line) => line.stream === stream)
          if (of.length === 0) return null
          const text = (side: 'a' | 'b'): string =>
            of.flatMap((line) => (line[side] === undefined ? [] : [line[side].text])).join('\n')
          const [a, b] = [text('a'), text('b')]
          const missing = of.every((line) => line.a === undefined)
            ? 'a'
            : of.every((line) => line.b === undefined)
              ? 'b'
              : undefined
          return (
            <TextDiff
              key={stream}
              what={`${stream}, lines that differ`}
              a={a}
              b={b}
              names={names}
              missing={missing}
            />
          )
        })}
      </div>
    </section>
  )
}
