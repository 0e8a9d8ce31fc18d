import type { StateView } from '../../model/state-view.js'

/** Long values are cut; the trees below have all of them. */
const SHOWN = 200

/** What has another value than where the program stood before. */
export function StateChanges({ state }: { readonly state: StateView }) {
  const { comparedWith, changes } = state
  if (comparedWith === undefined) return null
  return (
    <section aria-label="Changes">
      <h3 className="mb-0.5 text-sm text-muted">
        {changes.length === 0 ? 'Nothing has changed' : 'Changed'} since step {comparedWith}
      </h3>
      <ul className="font-mono text-sm">
        {changes.map((change) => (
          <li key={change.path} className="border-b border-line py-0.5 wrap-anywhere">
            <span className="text-kind-model">{change.path}</span>{' '}
            {'before' in change && <del className="text-danger">{textOf(change.before)}</del>}
            {'before' in change && 'after' in change && <span aria-hidden="true"> → </span>}
            {'after' in change && (
              <ins className="text-good no-underline">{textOf(change.after)}</ins>
            )}
            {!('before' in change) && <span className="text-muted"> new</span>}
            {!('after' in change) && <span className="text-muted"> gone</span>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
