import { useState, type ReactNode } from 'react'
import { formatCount } from '../format.js'

const CHARS = 4000
const LINES = 60

export interface LongTextProps {
  readonly text: string
  /** How long it is in truth, when `text` is only its beginning. */
  readonly length?: number
  /** Offered when `text` is not all. */
  readonly whole?: ReactNode
  readonly draw: (text: string) => ReactNode
}

/** A text, folded when it is long, that says how much of it is not shown. */
export function LongText({ text, length = text.length, whole, draw }: LongTextProps) {
  const [isOpen, setOpen] = useState(false)
  const end = isOpen ? text.length : foldAt(text)
  return (
    <>
      {draw(end < text.length ? text.slice(0, end) : text)}
      {end < text.length && (
        <button
          type="button"
          className="mt-1 block text-sm text-accent hover:underline"
          onClick={() => setOpen(true)}
        >
          Show {length > text.length ? 'more' : 'all'} of {formatCount(length)} characters
        </button>
      )}
      {end === text.length && length > text.length && (
        <p className="mt-1 flex flex-wrap items-center gap-2 text-sm text-muted">
          The first {formatCount(text.length)} of {formatCount(length)} characters. {whole}
        </p>
      )}
    </>
  )
}

/** Where to cut; the end of the text when it is short enough to be shown whole. */
export function foldAt(text: string): number {
  let [at, lines] = [0, 0]
  while (lines < LINES && at >= 0 && at < CHARS) {
    at = text.indexOf('\n', at) + 1
    if (at === 0) at = -1
    lines += 1
  }
  const end = lines === LINES && at > 0 ? Math.min(at - 1, CHARS) : CHARS
  // A little more than the limit is not worth a button.
  return text.length <= end * 1.25 || text.length <= 400 ? text.length : end
}
