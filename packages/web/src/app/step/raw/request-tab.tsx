import { Field } from '../field/field-links.js'
import { Section } from '../section.js'
import { VisibleText } from '../text/visible-text.js'
import type { TabProps } from '../tabs/tab-props.js'
import { BodyPanel } from './body-panel.js'
import { HeadersTable } from './headers-table.js'

/** The request as it left: method, address, headers, bytes. */
export function RequestTab({ run, detail: { label, request } }: TabProps) {
  if (request === undefined) return <p className="p-3 text-muted">No request is on the tape.</p>
  const { method, url, headers, body } = request
  return (
    <div className="flex flex-col gap-3 p-3">
      <Field path="request.url" className="font-mono [overflow-wrap:anywhere]">
        <span className="font-medium">{method}</span> <VisibleText text={url} />
      </Field>
      <Section title={`Headers, ${headers.length}`}>
        <HeadersTable headers={headers} path="request.headers" />
      </Section>
      <Section title="Body">
        <BodyPanel key={label} run={run} label={label} side="request" body={body} />
      </Section>
    </div>
  )
}
