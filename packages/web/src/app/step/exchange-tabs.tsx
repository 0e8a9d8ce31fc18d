import type { HeaderPair } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { Badge } from '../design/badge.js'
import { BodyPanel } from './body-panel.js'
import { Field, FieldSection, type TabProps } from '../values/field.js'
import { encodingUndone, indexed } from '../values/text-parts.js'
import { LongText, VisibleText } from '../values/text.js'

function HeadersTable({ headers, path }: { headers: readonly HeaderPair[]; path: string }) {
  if (headers.length === 0) return <p className="text-muted">No headers.</p>
  // The mask of a secret, which was never recorded.
  return (
    <table className="w-full table-fixed text-sm">
      <colgroup>
        <col className="w-36 md:w-52" />
        <col />
      </colgroup>
      <tbody>
        {indexed(headers).map(({ index, item: [name, value] }) => (
          <tr key={index} className="border-b border-line align-top last:border-b-0">
            <th
              scope="row"
              className="py-0.5 pr-2 text-left font-mono font-normal [overflow-wrap:anywhere] text-muted"
            >
              <VisibleText text={name} />
            </th>
            <td className="py-0.5 font-mono">
              <Field path={`${path}.${index}`} className="[overflow-wrap:anywhere]">
                <LongText text={value} />{' '}
                {value.includes('retake-hidden') && (
                  <Badge title="The value was not recorded">masked</Badge>
                )}
              </Field>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function ResponseTab({ run, detail: { label, response, state } }: TabProps) {
  if (response === undefined)
    return (
      <p className="p-3 text-muted">
        {state === 'running' ? 'No answer yet.' : 'No answer was recorded.'}
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
        {!complete && <Badge tone="warning">its end was not recorded</Badge>}
      </Field>
      {problem !== undefined && (
        <p className="text-warning">
          The stream could not be read to its end: <VisibleText text={problem} />
        </p>
      )}
      {undecoded !== undefined && (
        <p className="text-warning">
          Shown encoded: <VisibleText text={undecoded} /> cannot be decoded here.
        </p>
      )}
      {encoding !== undefined && (
        <p className="text-muted">
          Shown and downloaded without its encoding, <VisibleText text={encoding} />.
        </p>
      )}
      <FieldSection title={`Headers, ${headers.length}`}>
        <HeadersTable headers={headers} path="response.headers" />
      </FieldSection>
      <FieldSection title="Body">
        <BodyPanel
          key={label}
          run={run}
          label={label}
          side="response"
          body={body}
          events={events}
        />
      </FieldSection>
    </div>
  )
}

export function RequestTab({ run, detail: { label, request } }: TabProps) {
  if (request === undefined) return <p className="p-3 text-muted">No request was recorded.</p>
  const { method, url, headers, body } = request
  return (
    <div className="flex flex-col gap-3 p-3">
      <Field path="request.url" className="font-mono [overflow-wrap:anywhere]">
        <span className="font-medium">{method}</span> <VisibleText text={url} />
      </Field>
      <FieldSection title={`Headers, ${headers.length}`}>
        <HeadersTable headers={headers} path="request.headers" />
      </FieldSection>
      <FieldSection title="Body">
        <BodyPanel key={label} run={run} label={label} side="request" body={body} />
      </FieldSection>
    </div>
  )
}
