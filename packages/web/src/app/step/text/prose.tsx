import { placed } from '../placed.js'
import { splitFences } from './fences.js'
import { VisibleText } from './visible-text.js'

const WRAP = 'whitespace-pre-wrap [overflow-wrap:anywhere]'

/** What somebody said: text as it is, fenced code in blocks. No other markup is understood. */
export function Prose({ text, mono }: { readonly text: string; readonly mono: boolean }) {
  if (mono)
    return (
      <div dir="auto" className={`font-mono text-sm ${WRAP}`}>
        <VisibleText text={text} />
      </div>
    )
  return placed(splitFences(text)).map(({ place, it: block }) =>
    block.type === 'text' ? (
      <div key={place} dir="auto" className={WRAP}>
        <VisibleText text={block.text} />
      </div>
    ) : (
      <figure key={place} className="my-1.5 rounded border border-line bg-sunken">
        {block.language !== '' && (
          <figcaption className="border-b border-line px-2 py-0.5 text-xs text-muted">
            <VisibleText text={block.language} />
          </figcaption>
        )}
        <pre className={`px-2 py-1.5 font-mono text-sm ${WRAP}`}>
          <VisibleText text={block.text} />
        </pre>
      </figure>
    ),
  )
}
