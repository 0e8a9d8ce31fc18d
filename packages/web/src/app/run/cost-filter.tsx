import { useId, useState } from 'react'
import { classes } from '../design/classes.js'
import type { Filtering } from './use-filter.js'

/** Steps that cost at least so many dollars. */
export function CostFilter({ filtering: { filter, change } }: { readonly filtering: Filtering }) {
  const id = useId()
  const { costMin } = filter
  const [text, setText] = useState<string>()
  const take = (): void => {
    if (text === undefined) return
    setText(undefined)
    const value = Number(text.replace(/^\$/, '').trim())
    const next = text.trim() === '' || !Number.isFinite(value) || value < 0 ? undefined : value
    if (next !== costMin) change({ costMin: next })
  }
  return (
    <span
      className={classes(
        'inline-flex h-6 shrink-0 items-center gap-1 rounded border px-1.5',
        costMin === undefined
          ? 'border-transparent text-muted'
          : 'border-accent bg-accent-soft text-accent',
      )}
    >
      <label htmlFor={id} className="whitespace-nowrap">
        cost ≥ $
      </label>
      <input
        id={id}
        inputMode="decimal"
        size={6}
        className="h-5 w-14 rounded-xs border border-line-strong bg-surface px-1 font-mono text-sm text-text"
        placeholder="0"
        value={text ?? (costMin === undefined ? '' : String(costMin))}
        onChange={(event) => setText(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take()
          if (event.key === 'Escape') setText(undefined)
        }}
      />
    </span>
  )
}
