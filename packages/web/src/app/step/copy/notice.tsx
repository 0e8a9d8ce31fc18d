import { useSyncExternalStore } from 'react'

let current = ''
let ending: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function set(text: string): void {
  current = text
  for (const listener of listeners) listener()
}

/** Says for a moment what was just done. */
export function notify(text: string): void {
  set(text)
  clearTimeout(ending)
  ending = setTimeout(() => set(''), 4000)
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The line that says it. */
export function Notice() {
  const text = useSyncExternalStore(subscribe, () => current)
  return (
    <p
      role="status"
      className={
        text === ''
          ? 'sr-only'
          : 'fixed right-3 bottom-8 z-50 rounded border border-line-strong bg-raised px-3 py-1.5 shadow-md'
      }
    >
      {text}
    </p>
  )
}
