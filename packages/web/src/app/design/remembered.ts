import { Store, useStore } from '../store.js'

/** Persistent settings; in memory if storage is not available. */
const settings = new Map<string, Store<unknown>>()

const nameOf = (key: string): string => `retake.${key}`

function settingOf(key: string, initial: unknown): Store<unknown> {
  const known = settings.get(key) ?? new Store(stored(key) ?? initial)
  settings.set(key, known)
  return known
}

export const readRemembered = <T>(key: string, initial: T): T => settingOf(key, initial).get() as T

export const onRemembered = (key: string, initial: unknown, listener: () => void): (() => void) =>
  settingOf(key, initial).subscribe(listener)

/**
 * A setting in this browser. `initial` must be the identical value at every render. An older viewer
 * may have stored something else: validate anything beyond a plain value.
 */
export function useRemembered<T>(key: string, initial: T): [T, (value: T) => void] {
  const setting = settingOf(key, initial)
  const remember = (value: T): void => {
    setting.set(value)
    try {
      localStorage.setItem(nameOf(key), JSON.stringify(value))
    } catch {
      // Storage is forbidden or full: remembered until the page is closed.
    }
  }
  return [useStore(setting) as T, remember]
}

function stored(key: string): unknown {
  try {
    const text = localStorage.getItem(nameOf(key))
    return text === null ? undefined : (JSON.parse(text) ?? undefined)
  } catch {
    return undefined
  }
}
