import { siteInStack } from '../../../model/site-in-stack.js'
import { Field } from '../field/field-links.js'
import { Section } from '../section.js'
import { SourceView } from '../source/source-view.js'
import { useSelection } from '../../run/use-selection.js'
import { VisibleText } from '../text/visible-text.js'
import type { TabProps } from '../tabs/tab-props.js'
import { ErrorView } from './error-view.js'

/** What went wrong, and the line it went wrong at. */
export function ErrorTab({ run, detail }: TabProps) {
  const { show } = useSelection()
  const { failure, error, response, site } = detail
  const thrown = siteInStack(failure)
  return (
    <div className="flex flex-col gap-3 p-3">
      {failure === undefined ? (
        <Field path="error" className="text-danger [overflow-wrap:anywhere]">
          <VisibleText text={error ?? 'What went wrong is not on the tape.'} />
        </Field>
      ) : (
        <ErrorView error={failure} path="failure" />
      )}
      {response !== undefined && (
        <p>
          <button
            type="button"
            className="text-accent hover:underline"
            onClick={() => show('response')}
          >
            Show the answer, {response.status} <VisibleText text={response.statusText} />
          </button>
        </p>
      )}
      {(thrown ?? site) !== undefined && (
        <Section title={thrown === undefined ? 'Where it was asked for' : 'Where it was thrown'}>
          <SourceView run={run} site={thrown ?? site ?? ''} />
        </Section>
      )}
    </div>
  )
}
