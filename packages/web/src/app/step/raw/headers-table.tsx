import type { HeaderPair } from '@retake/tape'
import { Badge } from '../../design/badge.js'
import { Field } from '../field/field-links.js'
import { placed } from '../placed.js'
import { LongText } from '../text/long-text.js'
import { VisibleText } from '../text/visible-text.js'

/** What stands on a tape for a secret; it was never written. */
const isMasked = (value: string): boolean => value.includes('retake-hidden')

/** Headers in the order they were sent. */
export function HeadersTable(props: {
  readonly headers: readonly HeaderPair[]
  readonly path: string
}) {
  const { headers, path } = props
  if (headers.length === 0) return <p className="text-muted">No headers.</p>
  return (
    <table className="w-full table-fixed text-sm">
      <colgroup>
        <col className="w-36 md:w-52" />
        <col />
      </colgroup>
      <tbody>
        {placed(headers).map(({ place, it: [name, value] }) => (
          <tr key={place} className="border-b border-line align-top last:border-b-0">
            <th
              scope="row"
              className="py-0.5 pr-2 text-left font-mono font-normal [overflow-wrap:anywhere] text-muted"
            >
              <VisibleText text={name} />
            </th>
            <td className="py-0.5 font-mono">
              <Field path={`${path}.${place}`} className="[overflow-wrap:anywhere]">
                <LongText text={value} />{' '}
                {isMasked(value) && (
                  <Badge title="The value was not written to the tape">masked</Badge>
                )}
              </Field>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
