import type { Message, MessagePart, ToolCallPart } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { createContext, memo, use } from 'react'
import type { BodySide } from '../../model/run-source.js'
import { Badge } from '../design/badge.js'
import type { Run } from '../run/data/use-run.js'
import { DownloadBody } from './body-panel.js'
import type { FoundResult, ToolPairs } from './chat-tab.js'
import { Field, Fold, StepLink } from '../values/field.js'
import { asClipped, jsonIn, rowTextOf, JsonTree } from '../values/json-tree.js'
import { Markdown } from './markdown.js'
import { indexed } from '../values/text-parts.js'
import { LongText, VisibleText } from '../values/text.js'

export interface ChatLook {
  readonly run: Run
  readonly label: string
  readonly mono: boolean
  /** Label of the step that executed the call at a path. */
  readonly stepOfCall: (path: string) => string | undefined
  readonly sideOf: (path: string) => BodySide
  /** Index of the first new message. Results from there on are marked. */
  readonly newFrom?: number
}

const LookContext = createContext<ChatLook | undefined>(undefined)
export const ChatLookProvider = LookContext.Provider
const useChatLook = (): ChatLook | undefined => use(LookContext)

function WholeBody({ path }: { path: string }) {
  const look = useChatLook()
  if (look === undefined) return null
  return <DownloadBody run={look.run} label={look.label} side={look.sideOf(path)} />
}

interface MessagePartProps {
  readonly part: MessagePart
  readonly path: string
  readonly pairs: ToolPairs
}

function MessagePartView({ part, path, pairs }: MessagePartProps) {
  switch (part.type) {
    case 'text':
      return <TextPart value={part.text} path={`${path}.text`} />
    case 'reasoning':
      return (
        <Fold
          path={`${path}.text`}
          title={`Reasoning, ${plural(rowTextOf(part.text).length, 'character')}`}
          className="border-l-2 border-line-strong pl-2 text-muted"
        >
          <TextPart value={part.text} path={`${path}.text`} />
        </Fold>
      )
    case 'tool_call':
      return <ToolCallView call={part} path={path} result={pairs.results.get(part.id)} />
    case 'tool_result': {
      const call = pairs.calls.get(part.id)
      const isAbove = pairs.results.get(part.id)?.path === `${path}.content`
      if (isAbove && call !== undefined) return null
      return (
        <div>
          <div className="mb-0.5 text-xs text-muted">
            Result{part.isError === true ? ', an error' : ''}
          </div>
          <ToolContent value={part.content} path={`${path}.content`} />
        </div>
      )
    }
    case 'image':
      // Only described, because images are never loaded.
      return (
        <Field
          path={`${path}.source`}
          className="rounded border border-dashed border-line-strong px-2 py-1"
        >
          <span className="text-muted">Image</span>{' '}
          <VisibleText
            text={rowTextOf(part.source).text.slice(0, 500)}
            className="font-mono text-sm [overflow-wrap:anywhere]"
          />
        </Field>
      )
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

function TextPart({ value, path }: { value: unknown; path: string }) {
  const mono = useChatLook()?.mono ?? false
  const { text, length } = rowTextOf(value)
  return (
    <Field path={path}>
      <LongText
        text={text}
        length={length}
        whole={<WholeBody path={path} />}
        {...(mono ? { look: 'mono' } : { render: (shown) => <Markdown text={shown} /> })}
      />
    </Field>
  )
}

interface MessageViewProps {
  readonly message: Message
  readonly path: string
  readonly pairs?: ToolPairs
  readonly isNew?: boolean
  readonly isAnswer?: boolean
}

interface RoleLook {
  readonly name: string
  readonly edge: string
  readonly color: string
}

const QUIET = { edge: 'border-l-line-strong', color: 'text-muted' }
const ROLES: Readonly<Record<Message['role'], RoleLook>> = {
  system: { name: 'System', ...QUIET },
  developer: { name: 'Developer', ...QUIET },
  user: { name: 'User', edge: 'border-l-kind-process', color: 'text-kind-process' },
  assistant: { name: 'Assistant', edge: 'border-l-kind-model', color: 'text-kind-model' },
  tool: { name: 'Tool', edge: 'border-l-kind-tool', color: 'text-kind-tool' },
}

const NO_PAIRS: ToolPairs = { results: new Map(), calls: new Map() }

/** Off-screen messages are not painted. Results shown at their calls are not repeated. */
export const MessageView = memo(function MessageView(props: MessageViewProps) {
  const { message, path, pairs = NO_PAIRS, isNew = false, isAnswer = false } = props
  const { role, parts } = message
  const isShownAbove = (part: MessagePart, index: number): boolean =>
    part.type === 'tool_result' &&
    pairs.results.get(part.id)?.path === `${path}.parts.${index}.content`
  if (parts.length > 0 && parts.every(isShownAbove)) return null
  const { name, edge, color } = ROLES[role] ?? { name: role, ...QUIET }
  return (
    <li
      data-field={path}
      className={`border-l-3 px-3 py-2.5 [contain-intrinsic-size:auto_6rem] [content-visibility:auto] ${edge} ${isAnswer ? 'bg-raised' : ''}`}
    >
      <div className="mb-1 flex items-center gap-2 text-sm">
        <span className={`font-semibold ${color}`}>{name}</span>
        {isAnswer && <span className="text-muted">this step</span>}
        {isNew && <Badge tone="accent">new</Badge>}
      </div>
      <div className="flex flex-col gap-1.5">
        {parts.length === 0 && <p className="text-muted">Empty message</p>}
        {indexed(parts).map(({ index, item: part }) => (
          <MessagePartView key={index} part={part} path={`${path}.parts.${index}`} pairs={pairs} />
        ))}
      </div>
    </li>
  )
})

interface ToolCallViewProps {
  readonly call: ToolCallPart
  readonly path: string
  readonly result: FoundResult | undefined
}

function ToolCallView({ call, path, result }: ToolCallViewProps) {
  const look = useChatLook()
  const step = look?.stepOfCall(path)
  const at = Number(/^messages\.(\d+)\./.exec(result?.path ?? '')?.[1] ?? -1)
  const isNew = (look?.newFrom ?? 0) > 0 && at >= (look?.newFrom ?? 0)
  const isError = result?.part.isError === true
  return (
    <div className="@container overflow-hidden rounded border border-line">
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
      <div className={result ? 'grid @min-[700px]:grid-cols-2' : ''}>
        <div className="min-w-0 px-2 py-1.5">
          <div className="mb-0.5 text-xs text-muted">Arguments</div>
          <ToolContent value={call.args} path={`${path}.args`} />
        </div>
        {result && (
          <div className="min-w-0 border-t border-line px-2 py-1.5 @min-[700px]:border-t-0 @min-[700px]:border-l">
            <div className={`mb-0.5 text-xs ${isError ? 'text-danger' : 'text-muted'}`}>
              {isError ? 'Result, an error' : 'Result'} {isNew && <Badge tone="accent">new</Badge>}
            </div>
            <ToolContent value={result.part.content} path={result.path} />
          </div>
        )}
      </div>
    </div>
  )
}

/** Shows JSON, even in a string, as a tree, and anything else as text. */
export function ToolContent({ value, path }: { value: unknown; path: string }) {
  const parsed = typeof value === 'string' ? jsonIn(value) : undefined
  const tree = parsed ?? value
  if (typeof tree === 'object' && tree !== null && asClipped(tree) === undefined)
    return (
      <div data-field={path}>
        <JsonTree label="JSON" value={tree} path={path} whole={<WholeBody path={path} />} />
      </div>
    )
  const { text, length } = rowTextOf(value)
  return (
    <Field path={path}>
      <LongText text={text} length={length} whole={<WholeBody path={path} />} look="mono" />
    </Field>
  )
}
