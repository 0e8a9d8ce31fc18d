import { Field } from '../field/field-links.js'
import type { TabProps } from '../tabs/tab-props.js'
import { SourceView } from './source-view.js'

/** Where in the agent's code this step was begun. */
export function SourceTab({ run, detail: { site } }: TabProps) {
  return (
    <div className="p-3">
      {site === undefined ? (
        <p className="text-muted">Which line began this step is not on the tape.</p>
      ) : (
        <Field path="site">
          <SourceView run={run} site={site} />
        </Field>
      )}
    </div>
  )
}
