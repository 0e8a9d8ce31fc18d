import { useState } from 'react'
import type { ComparedStep, RunComparison } from '../../api/run-comparison.js'
import { ComparedPrints } from './compared-prints.js'
import { ComparedStepCard } from './compared-step-card.js'
import { foldEqual } from './fold-equal.js'
import { TextDiff } from './text-diff.js'

const NAMES = ['a', 'b'] as const

/** Every pair of steps in order, equal ones folded; then what was printed, and what it came to. */
export function ComparedRows({ comparison }: { readonly comparison: RunComparison }) {
  const { a, b, rows, console: printed, outcome } = comparison
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set())
  const parts = foldEqual(rows, ({ verdict, moved }) => verdict === 'same' && moved !== true, {
    margin: 0,
    least: 1,
  })
  const card = (step: ComparedStep) => (
    <li key={`${step.a} ${step.b}`}>
      <ComparedStepCard step={step} runs={[a.id, b.id]} names={NAMES} />
    </li>
  )
  return (
    <>
      <section aria-label="Steps">
        <h2 className="mb-1 text-lg">Steps</h2>
        <ol className="flex flex-col gap-2">
          {parts.flatMap((part) => {
            if (part.type === 'item') return [card(part.item)]
            if (unfolded.has(part.key)) return part.items.map(card)
            return [
              <li key={`fold ${part.key}`}>
                <button
                  type="button"
                  className="w-full rounded bg-sunken px-2 py-1 text-left text-muted hover:text-text"
                  onClick={() => setUnfolded(new Set([...unfolded, part.key]))}
                >
                  {part.items.length === 1 ? '1 equal step' : `${part.items.length} equal steps`}
                </button>
              </li>,
            ]
          })}
        </ol>
      </section>
      {printed.length > 0 && <ComparedPrints lines={printed} names={NAMES} />}
      {outcome.length > 0 && (
        <section
          aria-label="Outcome"
          data-difference
          tabIndex={-1}
          className="scroll-mt-2 rounded focus:ring-1 focus:ring-accent"
        >
          <h2 className="mb-1 text-lg">Outcome</h2>
          <div className="flex flex-col gap-2">
            {outcome.map((text) => (
              <TextDiff key={text.what} {...text} names={NAMES} />
            ))}
          </div>
        </section>
      )}
    </>
  )
}
