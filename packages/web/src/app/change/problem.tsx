import type { Explained } from '../../model/run-head.js'

/** An error in full: what happened, why, what to do, and its code. */
export function Problem({ error }: { readonly error: Explained }) {
  return (
    <div role="alert" className="rounded border border-danger bg-danger-soft px-3 py-2">
      <p className="font-medium break-words whitespace-pre-wrap text-danger">{error.what}</p>
      {error.why !== undefined && (
        <p className="mt-1 break-words whitespace-pre-wrap">{error.why}</p>
      )}
      {error.fix !== undefined && (
        <p className="mt-1 break-words whitespace-pre-wrap">
          <span className="text-muted">What to do: </span>
          {error.fix}
        </p>
      )}
      {error.code !== '' && <p className="mt-1 font-mono text-sm text-muted">{error.code}</p>}
    </div>
  )
}
