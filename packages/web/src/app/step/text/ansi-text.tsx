import { readAnsi, type AnsiTone } from './ansi.js'
import { LongText } from './long-text.js'
import { VisibleText } from './visible-text.js'

const TONES: Readonly<Record<AnsiTone, string>> = {
  danger: 'text-danger',
  good: 'text-good',
  warning: 'text-warning',
  accent: 'text-accent',
  muted: 'text-muted',
}

/** What a program wrote to a terminal, in its colours as far as they are told apart here. */
export function AnsiText({ text }: { readonly text: string }) {
  return <LongText text={text} draw={(shown) => <Spans text={shown} />} />
}

function Spans({ text }: { readonly text: string }) {
  return readAnsi(text).map((span, place) => (
    <span
      key={place}
      className={`${span.tone === undefined ? '' : TONES[span.tone]} ${span.bold ? 'font-bold' : ''}`}
    >
      <VisibleText text={span.text} />
    </span>
  ))
}
