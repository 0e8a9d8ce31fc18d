import { count } from '@retake/tape/present'
import { Fragment, memo, type ReactNode, useState } from 'react'
import { TextButton } from '../design/button.js'
import { Badge } from '../design/badge.js'
import { type AnsiTone, foldAt, indexed, readAnsi, visibleParts } from './text-parts.js'

export const Lossy = () => (
  <Badge tone="warning" title="Bytes that are not UTF-8 are shown as replacement characters">
    not all of it is text
  </Badge>
)

const TONES: Readonly<Record<AnsiTone, string>> = {
  danger: 'text-danger',
  good: 'text-good',
  warning: 'text-warning',
  accent: 'text-accent',
  muted: 'text-muted',
}

interface VisibleTextProps {
  readonly text: string
  readonly className?: string
}

/** Text from a tape, never interpreted as markup and with every character visible. */
export const VisibleText = memo(function VisibleText({ text, className }: VisibleTextProps) {
  const parts = indexed(visibleParts(text)).map(({ index, item: part }) =>
    part.type === 'text' ? (
      <Fragment key={index}>{part.text}</Fragment>
    ) : (
      <span
        key={index}
        title={part.name}
        className="rounded-xs bg-warning-soft px-0.5 font-mono text-[0.85em] text-warning"
      >
        {part.text}
      </span>
    ),
  )
  return className === undefined ? parts : <span className={className}>{parts}</span>
})

/** Remarks about a result; nothing if there are none. */
export const Remarks = ({ notes }: { notes: readonly string[] }) =>
  notes.length > 0 && (
    <ul aria-label="Notes" className="flex flex-col gap-1">
      {notes.map((note) => (
        <li key={note} className="border-l-2 border-warning pl-2 wrap-anywhere">
          <VisibleText text={note} />
        </li>
      ))}
    </ul>
  )

interface LongTextProps {
  readonly text: string
  /** Full length, if `text` is only the beginning. */
  readonly length?: number
  /** Offered if `text` was cut. */
  readonly whole?: ReactNode
  /** `mono`: monospaced. `terminal`: with ANSI colours. */
  readonly look?: 'plain' | 'mono' | 'terminal' | 'quoted'
  readonly render?: (text: string) => ReactNode
}

/** Folds a long text and shows the number of hidden characters. */
export function LongText(props: LongTextProps) {
  const { text, length = text.length, whole, look = 'plain', render } = props
  const [isOpen, setOpen] = useState(false)
  const end = isOpen ? text.length : foldAt(text)
  const shown = end < text.length ? text.slice(0, end) : text
  return (
    <>
      {render === undefined ? <Look look={look} text={shown} /> : render(shown)}
      {end < text.length && (
        <TextButton className="mt-1 block font-sans text-sm" onClick={() => setOpen(true)}>
          Show {length > text.length ? 'more' : 'all'} of {count(length)} characters
        </TextButton>
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
    case 'mono':
      return (
        <div dir="auto" className="font-mono text-sm wrap-anywhere whitespace-pre-wrap">
          <VisibleText text={text} />
        </div>
      )
    case 'terminal':
      return indexed(readAnsi(text)).map(({ index, item: { text: piece, tone, bold } }) => (
        <span
          key={index}
          className={`${tone === undefined ? '' : TONES[tone]} ${bold ? 'font-bold' : ''}`}
        >
          <VisibleText text={piece} />
        </span>
      ))
    case 'quoted':
      return (
        <>
          "<VisibleText text={text} />"
        </>
      )
  }
}
