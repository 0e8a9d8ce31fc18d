import { ErrorNote } from '../design/error-note.js'
import { ValueTree } from './frame-variables.js'
import type { Evaluated } from './standing.js'

/** An expression and what the program said to it. */
export function EvaluatedValue({ evaluated }: { readonly evaluated: Evaluated }) {
  const { expression, step, value, error } = evaluated
  return (
    <div>
      <p className="font-mono text-sm wrap-anywhere">
        <span className="text-kind-model">{expression}</span>{' '}
        <span className="text-muted">{step !== undefined && `at step ${step}`}</span>
      </p>
      {error !== undefined && <ErrorNote error={error} />}
      {value?.ok === false && (
        <p className="font-mono text-sm whitespace-pre-wrap text-danger">{value.text}</p>
      )}
      {value?.ok === true && (
        <ValueTree
          label={expression}
          json={value.json}
          text={value.text}
          isCut={value.cut ?? false}
        />
      )}
    </div>
  )
}
