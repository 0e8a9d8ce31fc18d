import type { Message } from '@retake/tape'
import { memo } from 'react'
import { Badge } from '../../design/badge.js'
import { placed } from '../placed.js'
import { MessagePartView } from './message-part.js'
import type { ToolPairs } from './tool-pairs.js'

export interface MessageViewProps {
  readonly message: Message
  /** For example `messages.3`. */
  readonly path: string
  readonly pairs: ToolPairs
  readonly isNew?: boolean
  readonly isAnswer?: boolean
}

const EDGES: Readonly<Record<Message['role'], string>> = {
  system: 'border-l-line-strong',
  developer: 'border-l-line-strong',
  user: 'border-l-kind-process',
  assistant: 'border-l-kind-model',
  tool: 'border-l-kind-tool',
}

/** One message. Those off the screen cost nothing to draw. */
export const MessageView = memo(function MessageView(props: MessageViewProps) {
  const { message, path, pairs, isNew = false, isAnswer = false } = props
  const { role, parts } = message
  return (
    <li
      data-field={path}
      className={`border-l-2 py-2 pr-3 pl-3 [contain-intrinsic-size:auto_6rem] [content-visibility:auto] ${EDGES[role] ?? 'border-l-line'} ${isAnswer ? 'bg-raised' : ''}`}
    >
      <div className="mb-1 flex items-center gap-2 text-sm">
        <span className="font-medium">{isAnswer ? 'answer' : role}</span>
        {isAnswer && role !== 'assistant' && <span className="text-muted">{role}</span>}
        {isNew && <Badge tone="accent">new</Badge>}
      </div>
      <div className="flex flex-col gap-1.5">
        {parts.length === 0 && <p className="text-muted">Nothing in it</p>}
        {placed(parts).map(({ place, it: part }) => (
          <MessagePartView key={place} part={part} path={`${path}.parts.${place}`} pairs={pairs} />
        ))}
      </div>
    </li>
  )
})
