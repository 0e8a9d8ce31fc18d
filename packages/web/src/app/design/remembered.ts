import { useSyncExternalStore } from 'react'

/** Persistent settings; in memory if storage is not available. */
const known = new Map<string, unknown>()
const listeners = new Map<string, Set<() => void>>()
const nameOf = (key: string): string => `retake.${key}`

export function readRemembered<T>(key: string, initial: T): T {
  if (!known.has(key)) known.set(key, stored(key) ?? initial)
  return known.get(key) as T
}

export function remember(key: string, value: unknown): void {
  known.set(key, value)
  try {
    localStorage.setItem(nameOf(key), JSON.stringify(value))
  } catch {
    // Forbidden or full: remembered until the page is closed.
  }
  for (const listener of listeners.get(key) ?? []) listener()
}

export function onRemembered(key: string, listener: () => void): () => void {
  const all = listeners.get(key) ?? new Set()
  listeners.set(key, all.add(listener))
  return () => all.delete(listener)
}

/**
 * A setting in this browser. `initial` must be the identical value at every render. An older
 * viewer may have stored something else: validate anything beyond a plain value.
 */
export function useRemembered<T>(key: string, initial: T): [T, (value: T) => void] {
  const value = useSyncExternalStore(
    (listener) => onRemembered(key, listener),
    () => readRemembered(key, initial),
  )
  return [value, (next) => remember(key, next)]
}

function stored(key: string): unknown {
  try {
    const text = localStorage.getItem(nameOf(key))
    return text === null ? undefined : (JSON.parse(text) ?? undefined)
  } catch {
    return undefined
  }
}
