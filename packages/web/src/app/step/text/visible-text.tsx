import { Fragment, memo } from 'react'
import { placed } from '../placed.js'
import { visibleParts } from './visible-parts.js'

/** Text from a tape. Nothing in it is markup, and nothing in it stays unseen. */
export const VisibleText = memo(function VisibleText({ text }: { readonly text: string }) {
  return placed(visibleParts(text)).map(({ place, it: part }) =>
    part.type === 'text' ? (
      <Fragment key={place}>{part.text}</Fragment>
    ) : (
      <span
        key={place}
        title={part.name}
        className="rounded-xs bg-warning-soft px-0.5 font-mono text-[0.85em] text-warning"
      >
        {part.text}
      </span>
    ),
  )
})
