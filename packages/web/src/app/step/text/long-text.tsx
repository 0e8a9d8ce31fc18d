import { useState, type ReactNode } from 'react'
import { count } from '@retake/tape/present'
import { AnsiSpans } from './ansi-spans.js'
import { foldAt } from './fold-at.js'
import { Prose } from './prose.js'
import { VisibleText } from './visible-text.js'

export interface LongTextProps {
  readonly text: string
  /** How long it is in truth, when `text` is only its beginning. */
  readonly length?: number
  /** Offered when `text` is not all. */
  readonly whole?: ReactNode
  /** `prose`: what somebody said. `mono`: the same, every character in its column. `terminal`: with its colours. */
  readonly look?: 'plain' | 'prose' | 'mono' | 'terminal' | 'quoted'
}

/** A text, folded when it is long, that says how much of it is not shown. */
export function LongText({ text, length = text.length, whole, look = 'plain' }: LongTextProps) {
  const [isOpen, setOpen] = useState(false)
  const end = isOpen ? text.length : foldAt(text)
  return (
    <>
      <Look look={look} text={end < text.length ? text.slice(0, end) : text} />
      {end < text.length && (
        <button
          type="button"
          className="mt-1 block font-sans text-sm text-accent hover:underline"
          onClick={() => setOpen(true)}
        >
          Show {length > text.length ? 'more' : 'all'} of {count(length)} characters
        </button>
      )}
      {end === text.length && length > text.length && (
        <span className="mt-1 flex flex-wrap items-center gap-2 font-sans text-sm text-muted">
          The first {count(text.length)} of {count(length)} characters. {whole}
        </span>
      )}
    </>
  )
}

function Look({ look, text }: Required<Pick<LongTextProps, 'look' | 'text'>>) {
  switch (look) {
    case 'plain':
      return <VisibleText text={text} />
    case 'prose':
      return <Prose text={text} mono={false} />
    case 'mono':
      return <Prose text={text} mono />
    case 'terminal':
      return <AnsiSpans text={text} />
    case 'quoted':
      return (
        <>
          "<VisibleText text={text} />"
        </>
      )
  }
}
