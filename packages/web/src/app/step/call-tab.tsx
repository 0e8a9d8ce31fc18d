import { ACTED_TEXT, driftText, type StepGuard } from '@retake/tape'
import { clock, duration, plural } from '@retake/tape/present'
import type { CallView } from '../../model/run-source.js'
import { Badge, Facts } from '../design/badge.js'
import { DownloadBody } from './body-panel.js'
import { ErrorView } from './error-tab.js'
import { Field, FieldSection, type TabProps } from '../values/field.js'
import { type ChatLook, ChatLookProvider, ToolContent } from './message-view.js'
import { indexed } from '../values/text-parts.js'
import { LongText, Lossy, VisibleText } from '../values/text.js'
import { JsonTree } from '../values/json-tree.js'

export function CallTab({ run, detail }: TabProps) {
  const { call, kind, label } = detail
  if (call === undefined) return <p className="p-3 text-muted">No call was recorded.</p>
  const look: ChatLook = {
    run,
    label,
    mono: true,
    stepOfCall: () => undefined,
    sideOf: (path) => (path.startsWith('args') ? 'args' : 'result'),
  }
  return (
    <ChatLookProvider value={look}>
      <div className="flex flex-col gap-3 p-3">
        <Field path="name" className="font-mono font-medium [overflow-wrap:anywhere]">
          <VisibleText text={call.name} />
        </Field>
        {detail.guard !== undefined && (
          <GuardSection
            guard={detail.guard}
            isOpen={detail.state === 'running'}
            latencyMs={detail.latencyMs}
          />
        )}
        <FieldSection title={kind === 'process' ? 'Command' : 'Arguments'}>
          <ToolContent value={call.args} path="args" />
        </FieldSection>
        {call.error === undefined ? (
          <FieldSection title={kind === 'process' ? 'How it ended' : 'Result'}>
            {call.result === undefined ? (
              <p className="text-muted">
                <VisibleText text={withoutResult(detail)} />
              </p>
            ) : (
              <ToolContent value={call.result} path="result" />
            )}
          </FieldSection>
        ) : (
          <FieldSection title="Error">
            <ErrorView error={call.error} path="failure" />
          </FieldSection>
        )}
        {call.output.length > 0 && <ChildOutput run={run} label={label} call={call} />}
      </div>
    </ChatLookProvider>
  )
}

function withoutResult({ kind, state, error }: TabProps['detail']): string {
  if (state === 'running') return 'No result yet.'
  if (state === 'failed') return error ?? 'It failed; the reason was not recorded.'
  if (state === 'denied') return error ?? 'A guard denied it.'
  if (state !== 'done') return 'No answer was recorded.'
  return kind === 'process' ? 'It ended without an error.' : 'It returned nothing.'
}

const PIPES = ['stdin', 'stdout', 'stderr']
const PAGE = 500

function ChildOutput(props: {
  readonly run: TabProps['run']
  readonly label: string
  readonly call: CallView
}) {
  const { output, outputBytes } = props.call
  return (
    <FieldSection title={`Output, ${plural(output.length, 'chunk')}`}>
      {indexed(output.slice(0, PAGE)).map(({ index, item: { at, pipe, text, isLossy } }) => (
        <div key={index} className="flex gap-2 font-mono text-sm">
          <span className="w-16 shrink-0 text-right text-muted">{clock(at)}</span>
          <span className={`w-12 shrink-0 ${pipe === 2 ? 'text-danger' : 'text-muted'}`}>
            {PIPES[pipe] ?? `pipe ${pipe}`}
          </span>
          <Field
            path={`output.${index}`}
            className="flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            <LongText text={text.replace(/\n$/, '')} look="terminal" />
            {isLossy && <Lossy />}
          </Field>
        </div>
      ))}
      {(output.length > PAGE || outputBytes !== undefined) && (
        <p className="mt-1 flex items-center gap-2 text-sm text-muted">
          Only the beginning is shown.
          <DownloadBody run={props.run} label={props.label} side="output" bytes={outputBytes} />
        </p>
      )}
    </FieldSection>
  )
}

interface GuardSectionProps {
  readonly guard: StepGuard
  /** True if the call has not been decided yet. */
  readonly isOpen: boolean
  readonly latencyMs: number | undefined
}

function GuardSection({ guard, isOpen, latencyMs }: GuardSectionProps) {
  const { tookMs } = guard
  const waitedMs =
    guard.approval === undefined || latencyMs === undefined ? undefined : latencyMs - (tookMs ?? 0)
  const { rule, code, status, policy, exitReason, approval, served, attempts } = guard
  const { drift = [], blocked = [], acted } = guard
  const remarks = [
    ...drift.map(driftText),
    ...blocked.map((what) => `refused: ${what}`),
    ...(acted ? [ACTED_TEXT] : []),
  ]
  return (
    <FieldSection title="Guard">
      <Facts
        className="text-sm"
        facts={[
          {
            label: 'outcome',
            value: status === 'stopped' || status === 'in doubt' ? status : undefined,
          },
          { label: 'rule', value: rule ?? 'default', isMono: true },
          { label: 'code', value: isOpen || status === 'done' ? undefined : code, isMono: true },
          { label: 'stopped by', value: exitReason },
          {
            label:
              approval?.how === 'break-glass'
                ? 'break-glass by'
                : status === 'denied'
                  ? 'refused by'
                  : 'approved by',
            value: approval && (
              <VisibleText
                text={[approval.by, ...(approval.reason ? [approval.reason] : [])].join(': ')}
              />
            ),
          },
          { label: 'waited', value: waitedMs && duration(waitedMs) },
          { label: 'served from', value: served && `${served.run} e${served.seq}`, isMono: true },
          {
            label: 'attempts',
            value: attempts !== undefined && attempts > 1 ? attempts : undefined,
          },
          { label: 'policy', value: policy, isMono: true },
        ]}
      />
      {remarks.length > 0 && (
        <ul className="mt-1 text-sm text-muted">
          {remarks.map((remark) => (
            <li key={remark}>
              <VisibleText text={remark} />
            </li>
          ))}
        </ul>
      )}
    </FieldSection>
  )
}

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
      <FieldSection title="Parameters">
        <JsonTree label="Parameters" value={mcp.params ?? null} path="mcp.params" />
      </FieldSection>
      {mcp.error !== undefined ? (
        <FieldSection title="Error">
          <JsonTree label="Error" value={mcp.error} path="mcp.error" />
        </FieldSection>
      ) : (
        <FieldSection title="Result">
          {mcp.result === undefined ? (
            <p className="text-muted">
              {state === 'running' ? 'No answer yet.' : 'No answer was recorded.'}
            </p>
          ) : (
            <JsonTree label="Result" value={mcp.result} path="mcp.result" />
          )}
        </FieldSection>
      )}
      {mcp.notifications.length > 0 && (
        <FieldSection title={`During the call, ${plural(mcp.notifications.length, 'message')}`}>
          {indexed(mcp.notifications).map(({ index, item: { at, method, params } }) => (
            <div key={index} className="mb-1.5">
              <p className="font-mono text-sm">
                <span className="text-muted">{clock(at)}</span> <VisibleText text={method} />
              </p>
              <JsonTree label={method} value={params ?? null} path={`mcp.notifications.${index}`} />
            </div>
          ))}
        </FieldSection>
      )}
    </div>
  )
}
