// A list that an input moves through has no tag of its own.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { useEffect, useRef } from 'react'
import { classes } from '../design/classes.js'
import { Kbd } from '../design/kbd.js'
import type { PaletteItem } from './palette-items.js'

export interface PaletteListProps {
  readonly items: readonly PaletteItem[]
  /** Place of the one that Enter chooses. */
  readonly at: number
  readonly onChoose: (item: PaletteItem) => void
}

/** What was found, a heading wherever the group changes. */
export function PaletteList({ items, at, onChoose }: PaletteListProps) {
  const current = useRef<HTMLDivElement>(null)
  useEffect(() => current.current?.scrollIntoView({ block: 'nearest' }), [at])
  return (
    <div
      id="palette-list"
      role="listbox"
      aria-label="Found"
      className="min-h-0 flex-1 overflow-auto pb-1.5"
    >
      {items.length === 0 && <p className="px-4 py-6 text-center text-muted">Nothing is found.</p>}
      {items.map((item, place) => (
        <div key={item.id} role="presentation">
          {items[place - 1]?.group !== item.group && (
            <p role="presentation" className="px-4 pt-2.5 pb-1 text-sm text-muted">
              {item.group}
            </p>
          )}
          <div
            ref={place === at ? current : undefined}
            id={`palette-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === at}
            aria-disabled={item.disabled !== undefined}
            className={classes(
              'mx-1.5 flex min-h-7 cursor-pointer items-center gap-2 rounded px-2.5 py-1',
              place === at ? 'bg-accent-soft' : 'hover:bg-sunken',
            )}
            onClick={() => item.disabled === undefined && onChoose(item)}
            onKeyDown={() => {}}
          >
            <span
              className={classes(
                'min-w-0 flex-1 truncate',
                item.disabled !== undefined && 'text-muted',
              )}
            >
              <Marked text={item.title} places={item.places} />
              {(item.disabled ?? item.note) !== undefined && (
                <span className="text-muted"> · {item.disabled ?? item.note}</span>
              )}
            </span>
            {item.keys?.map((key) => (
              <Kbd key={key} keys={key} />
            ))}
          </div>
        </div>
      ))}
    </div>
  )
}

/** A text with some of its letters stressed. */
function Marked({ text, places }: { readonly text: string; readonly places: readonly number[] }) {
  const [first, last] = [places[0], places.at(-1)]
  if (first === undefined || last === undefined) return text
  const stressed = new Set(places)
  const parts: { at: number; text: string; isStressed: boolean }[] = []
  for (let at = 0; at < text.length; at++) {
    const isStressed = stressed.has(at)
    const before = parts.at(-1)
    if (before?.isStressed === isStressed) before.text += text[at] ?? ''
    else parts.push({ at, text: text[at] ?? '', isStressed })
  }
  return parts.map((part) =>
    part.isStressed ? (
      <b key={part.at} className="font-semibold text-accent">
        {part.text}
      </b>
    ) : (
      <span key={part.at}>{part.text}</span>
    ),
  )
}
