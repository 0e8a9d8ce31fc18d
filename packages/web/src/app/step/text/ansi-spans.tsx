import { placed } from '../placed.js'
import { readAnsi, type AnsiTone } from './ansi.js'
import { VisibleText } from './visible-text.js'

const TONES: Readonly<Record<AnsiTone, string>> = {
  danger: 'text-danger',
  good: 'text-good',
  warning: 'text-warning',
  accent: 'text-accent',
  muted: 'text-muted',
}

/** What a program wrote to a terminal, in its colours as far as they are told apart here. */
export function AnsiSpans({ text }: { readonly text: string }) {
  return placed(readAnsi(text)).map(({ place, it: { text: piece, tone, bold } }) => (
    <span
      key={place}
      className={`${tone === undefined ? '' : TONES[tone]} ${bold ? 'font-bold' : ''}`}
    >
      <VisibleText text={piece} />
    </span>
  ))
}
