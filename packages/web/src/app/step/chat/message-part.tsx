import type { MessagePart } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { Field } from '../field/field-links.js'
import { Fold } from '../field/fold.js'
import { textOf } from '../json/clipped.js'
import { JsonTree } from '../json/json-tree.js'
import { LongText } from '../text/long-text.js'
import { VisibleText } from '../text/visible-text.js'
import { useChatLook, WholeBody } from './chat-look.js'
import { ToolCallView, ToolContent } from './tool-call-view.js'
import type { ToolPairs } from './tool-pairs.js'

export interface MessagePartProps {
  readonly part: MessagePart
  readonly path: string
  readonly pairs: ToolPairs
}

/** One part of a message: text, reasoning, a call, a result, or something only named. */
export function MessagePartView({ part, path, pairs }: MessagePartProps) {
  switch (part.type) {
    case 'text':
      return <TextPart value={part.text} path={`${path}.text`} />
    case 'reasoning':
      return <ReasoningPart value={part.text} path={`${path}.text`} />
    case 'tool_call':
      return <ToolCallView call={part} path={path} result={pairs.results.get(part.id)} />
    case 'tool_result': {
      const call = pairs.calls.get(part.id)
      const isAbove = pairs.results.get(part.id)?.path === `${path}.content`
      if (isAbove && call !== undefined)
        return (
          <p className="text-sm text-muted">
            Result of <VisibleText text={call.name} />, shown beside its call above
          </p>
        )
      return (
        <div>
          <PartName>Result{part.isError === true ? ', an error' : ''}</PartName>
          <ToolContent value={part.content} path={`${path}.content`} />
        </div>
      )
    }
    case 'image':
      return <Placeholder name="Image" path={`${path}.source`} detail={textOf(part.source).text} />
    case 'other':
      return (
        <Fold
          path={path}
          title={<VisibleText text={part.kind} />}
          className="rounded border border-line px-2 py-1"
        >
          <JsonTree label={part.kind} value={part.value} path={`${path}.value`} />
        </Fold>
      )
  }
}

function TextPart({ value, path }: { readonly value: unknown; readonly path: string }) {
  const mono = useChatLook()?.mono ?? false
  const { text, length } = textOf(value)
  return (
    <Field path={path}>
      <LongText
        text={text}
        length={length}
        whole={<WholeBody path={path} />}
        look={mono ? 'mono' : 'prose'}
      />
    </Field>
  )
}

function ReasoningPart({ value, path }: { readonly value: unknown; readonly path: string }) {
  const { length } = textOf(value)
  return (
    <Fold
      path={path}
      title={`Reasoning, ${plural(length, 'character')}`}
      className="border-l-2 border-line-strong pl-2 text-muted"
    >
      <TextPart value={value} path={path} />
    </Fold>
  )
}

/** What is not drawn, only named: pictures are never loaded from anywhere. */
function Placeholder(props: {
  readonly name: string
  readonly path: string
  readonly detail: string
}) {
  return (
    <Field path={props.path} className="rounded border border-dashed border-line-strong px-2 py-1">
      <span className="text-muted">{props.name}</span>{' '}
      <span className="font-mono text-sm [overflow-wrap:anywhere]">
        <VisibleText text={props.detail.slice(0, 500)} />
      </span>
    </Field>
  )
}

export const PartName = ({ children }: { readonly children: React.ReactNode }) => (
  <div className="mb-0.5 text-xs text-muted">{children}</div>
)
