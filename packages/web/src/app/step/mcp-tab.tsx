import { clock, plural } from '@retake/tape/present'
import { Badge } from '../design/badge.js'
import { Field, Section, type TabProps } from './field.js'
import { JsonTree } from './json-tree.js'
import { indexed } from './text-parts.js'
import { VisibleText } from './text.js'

export function McpTab({ detail }: TabProps) {
  const { mcp, state } = detail
  if (mcp === undefined) return <p className="p-3 text-muted">No MCP message was recorded.</p>
  return (
    <div className="flex flex-col gap-3 p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Field path="mcp.method" className="font-mono font-medium [overflow-wrap:anywhere]">
          <VisibleText text={mcp.method} />
        </Field>
        <Badge>{mcp.transport}</Badge>
        <span className="text-muted">
          called by the {mcp.askedBy}
          {mcp.server !== undefined && (
            <>
              , server <VisibleText text={mcp.server} />
            </>
          )}
          {mcp.id !== undefined && <>, id {String(mcp.id)}</>}
        </span>
      </div>
      <Section title="Parameters">
        <JsonTree label="Parameters" value={mcp.params ?? null} path="mcp.params" />
      </Section>
      {mcp.error !== undefined ? (
        <Section title="Error">
          <JsonTree label="Error" value={mcp.error} path="mcp.error" />
        </Section>
      ) : (
        <Section title="Result">
          {mcp.result === undefined ? (
            <p className="text-muted">
              {state === 'running' ? 'No answer yet.' : 'No answer was recorded.'}
            </p>
          ) : (
            <JsonTree label="Result" value={mcp.result} path="mcp.result" />
          )}
        </Section>
      )}
      {mcp.notifications.length > 0 && (
        <Section title={`While it worked, ${plural(mcp.notifications.length, 'message')}`}>
          {indexed(mcp.notifications).map(({ index, item: { at, method, params } }) => (
            <div key={index} className="mb-1.5">
              <p className="font-mono text-sm">
                <span className="text-muted">{clock(at)}</span> <VisibleText text={method} />
              </p>
              <JsonTree label={method} value={params ?? null} path={`mcp.notifications.${index}`} />
            </div>
          ))}
        </Section>
      )}
    </div>
  )
}
