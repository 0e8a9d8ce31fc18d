import type { DivergenceView } from '../../api/job.js'
import { TextDiff } from '../compare/text-diff.js'

/** The first point where the program did something else than the tape says. */
export function DivergenceNote({ divergence }: { readonly divergence: DivergenceView }) {
  const { step, seq, summary, explanation, site, mismatches } = divergence
  return (
    <section aria-label="Divergence" className="flex flex-col gap-2">
      <p className="font-medium">
        {step === undefined ? `Event ${seq}` : `Step ${step}`}: {summary}
      </p>
      <p className="whitespace-pre-wrap">{explanation}</p>
      {site !== undefined && <p className="font-mono text-sm text-muted">{site}</p>}
      {mismatches.map(({ field, recorded, current }) => (
        <TextDiff key={field} what={field} a={recorded} b={current} names={['recorded', 'now']} />
      ))}
    </section>
  )
}
