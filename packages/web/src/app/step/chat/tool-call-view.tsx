import type { ToolCallPart } from '@retake/tape'
import { StepLink } from '../step-link.js'
import { Field } from '../field/field-links.js'
import { asClipped, textOf } from '../json/clipped.js'
import { jsonIn } from '../json/json-in.js'
import { JsonTree } from '../json/json-tree.js'
import { LongText } from '../text/long-text.js'
import { VisibleText } from '../text/visible-text.js'
import { useChatLook, WholeBody } from './chat-look.js'
import type { FoundResult } from './tool-pairs.js'

export interface ToolCallViewProps {
  readonly call: ToolCallPart
  readonly path: string
  readonly result: FoundResult | undefined
}

/** What a model asked for, and beside it what came of it. */
export function ToolCallView({ call, path, result }: ToolCallViewProps) {
  const step = useChatLook()?.stepOfCall(path)
  const isError = result?.part.isError === true
  return (
    <div className="overflow-hidden rounded border border-line">
      <div className="flex flex-wrap items-center gap-x-2 border-b border-line bg-raised px-2 py-1">
        <span className="text-xs text-kind-tool">tool call</span>
        <Field
          path={`${path}.name`}
          isInline
          className="font-mono text-sm font-medium [overflow-wrap:anywhere]"
        >
          <VisibleText text={call.name} />
        </Field>
        {step !== undefined && <StepLink label={step}>step {step}</StepLink>}
        {call.id !== '' && (
          <Field
            path={`${path}.id`}
            isInline
            className="ml-auto max-w-48 truncate font-mono text-xs text-muted"
          >
            <VisibleText text={call.id} />
          </Field>
        )}
      </div>
      <div className={result ? 'grid md:grid-cols-2' : ''}>
        <div className="min-w-0 px-2 py-1.5">
          <div className="mb-0.5 text-xs text-muted">Arguments</div>
          <ToolContent value={call.args} path={`${path}.args`} />
        </div>
        {result && (
          <div className="min-w-0 border-t border-line px-2 py-1.5 md:border-t-0 md:border-l">
            <div className={`mb-0.5 text-xs ${isError ? 'text-danger' : 'text-muted'}`}>
              {isError ? 'Result, an error' : 'Result'}
            </div>
            <ToolContent value={result.part.content} path={result.path} />
          </div>
        )}
      </div>
    </div>
  )
}

/** Arguments or a result: a tree where it is JSON, written as text or not; text otherwise. */
export function ToolContent({ value, path }: { readonly value: unknown; readonly path: string }) {
  const parsed = typeof value === 'string' ? jsonIn(value) : undefined
  const tree = parsed ?? value
  if (typeof tree === 'object' && tree !== null && asClipped(tree) === undefined)
    return (
      <div data-field={path}>
        <JsonTree label="JSON" value={tree} path={path} whole={<WholeBody path={path} />} />
      </div>
    )
  const { text, length } = textOf(value)
  return (
    <Field path={path}>
      <LongText text={text} length={length} whole={<WholeBody path={path} />} look="mono" />
    </Field>
  )
}
