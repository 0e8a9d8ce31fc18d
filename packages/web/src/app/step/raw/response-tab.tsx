import { plural } from '@retake/tape/present'
import { Badge } from '../../design/badge.js'
import { Field } from '../field/field-links.js'
import { Section } from '../section.js'
import { VisibleText } from '../text/visible-text.js'
import type { TabProps } from '../tabs/tab-props.js'
import { BodyPanel } from './body-panel.js'
import { encodingUndone } from './encoding-undone.js'
import { HeadersTable } from './headers-table.js'

/** The answer as it came: status, headers, bytes, and what is wrong with it. */
export function ResponseTab({ run, detail: { label, response, state } }: TabProps) {
  if (response === undefined)
    return (
      <p className="p-3 text-muted">
        {state === 'running' ? 'No answer yet.' : 'No answer is on the tape.'}
      </p>
    )
  const { status, statusText, headers, body, chunks, complete, problem, undecoded, events } =
    response
  const encoding = encodingUndone(response)
  return (
    <div className="flex flex-col gap-3 p-3">
      <Field path="response.status" className="flex flex-wrap items-center gap-2">
        <span className={`font-mono font-medium ${status >= 400 ? 'text-danger' : ''}`}>
          {status} <VisibleText text={statusText} />
        </span>
        <span className="text-muted">in {plural(chunks, 'piece')}</span>
        {!complete && <Badge tone="warning">its end is not on the tape</Badge>}
      </Field>
      {problem !== undefined && (
        <p className="text-warning">
          The stream could not be read to its end: <VisibleText text={problem} />
        </p>
      )}
      {undecoded !== undefined && (
        <p className="text-warning">
          Shown as it came: its encoding <VisibleText text={undecoded} /> could not be undone here.
        </p>
      )}
      {encoding !== undefined && (
        <p className="text-muted">
          Its encoding <VisibleText text={encoding} /> is undone in what is shown and downloaded.
        </p>
      )}
      <Section title={`Headers, ${headers.length}`}>
        <HeadersTable headers={headers} path="response.headers" />
      </Section>
      <Section title="Body">
        <BodyPanel
          key={label}
          run={run}
          label={label}
          side="response"
          body={body}
          events={events}
        />
      </Section>
    </div>
  )
}
