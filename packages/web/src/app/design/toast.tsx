import { useSyncExternalStore, type ReactNode } from 'react'
import { classes } from './classes.js'
import { CloseIcon } from './icons.js'

export interface ToastOptions {
  /** What failed stays until it is closed. */
  readonly tone?: 'neutral' | 'good' | 'danger'
  readonly action?: { readonly title: string; readonly run: () => void }
}

interface Toast extends ToastOptions {
  readonly id: number
  readonly text: ReactNode
}

const SHOWN_MS = 5000
const MOST = 4
let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

const close = (id: number): void => change(toasts.filter((toast) => toast.id !== id))

/** Says in a corner, and to a screen reader, what has just happened. */
export function showToast(text: ReactNode, options: ToastOptions = {}): void {
  const id = ++lastId
  change([...toasts, { id, text, ...options }].slice(-MOST))
  if (options.tone !== 'danger') setTimeout(() => close(id), SHOWN_MS)
}

const BORDERS = { neutral: 'border-line-strong', good: 'border-good', danger: 'border-danger' }

/** Where toasts appear; one for the whole page, always there, so that they are read aloud. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <output
      aria-label="Messages"
      className="pointer-events-none fixed right-3 bottom-9 left-3 z-50 flex flex-col items-end gap-2"
    >
      {shown.map(({ id, text, tone = 'neutral', action }) => (
        <div
          key={id}
          className={classes(
            'pointer-events-auto flex max-w-100 items-center gap-2 rounded-md border bg-raised py-1 pr-1 pl-3 text-text shadow-lg',
            BORDERS[tone],
          )}
        >
          <span className="min-w-0 break-words">{text}</span>
          {action && (
            <button
              type="button"
              className="h-7 shrink-0 rounded px-2 text-accent hover:bg-sunken"
              onClick={() => {
                action.run()
                close(id)
              }}
            >
              {action.title}
            </button>
          )}
          <button
            type="button"
            aria-label="Close message"
            className="inline-flex size-7 shrink-0 items-center justify-center rounded text-muted hover:bg-sunken hover:text-text"
            onClick={() => close(id)}
          >
            <CloseIcon />
          </button>
        </div>
      ))}
    </output>
  )
}
