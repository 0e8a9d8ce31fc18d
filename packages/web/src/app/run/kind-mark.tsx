import type { StepKind } from '@retake/tape'
import { classes } from '../design/classes.js'

const LOOKS: Record<StepKind, readonly [letter: string, look: string]> = {
  model: ['M', 'text-kind-model border-kind-model'],
  tool: ['T', 'text-kind-tool border-kind-tool'],
  http: ['H', 'text-kind-http border-kind-http'],
  mcp: ['C', 'text-kind-mcp border-kind-mcp'],
  process: ['P', 'text-kind-process border-kind-process'],
  mark: ['K', 'text-kind-mark border-kind-mark'],
}

/** What kind of step it is, as a letter in a box; the word is read out and shown on hover. */
export function KindMark({ kind }: { readonly kind: StepKind }) {
  const [letter, look] = LOOKS[kind]
  return (
    <span
      title={kind}
      className={classes(
        'inline-flex size-4 shrink-0 items-center justify-center rounded-xs border font-mono text-xs leading-none font-semibold',
        look,
      )}
    >
      <span aria-hidden="true">{letter}</span>
      <span className="sr-only">{kind}</span>
    </span>
  )
}
