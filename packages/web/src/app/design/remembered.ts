import { attempt } from '@retake/tape'
import { Store, useStore } from './store.js'

/** Settings in local storage; in memory if it is not available. */
const settings = new Map<string, Store<unknown>>()

const nameOf = (key: string): string => `retake.${key}`

function settingOf(key: string, initial: unknown): Store<unknown> {
  const read = (): unknown => JSON.parse(localStorage.getItem(nameOf(key)) ?? 'null')
  const known = settings.get(key) ?? new Store(attempt(read) ?? initial)
  settings.set(key, known)
  return known
}

export const readRemembered = <T>(key: string, initial: T): T => settingOf(key, initial).get() as T

export const onRemembered = (key: string, initial: unknown, listener: () => void): (() => void) =>
  settingOf(key, initial).subscribe(listener)

/**
 * A setting of this browser. `initial` must be identical in every render. An older viewer may have
 * stored something else, so validate anything but plain values.
 */
export function useRemembered<T>(key: string, initial: T): [T, (value: T) => void] {
  const setting = settingOf(key, initial)
  const remember = (value: T): void => {
    setting.set(value)
    try {
      localStorage.setItem(nameOf(key), JSON.stringify(value))
    } catch {
      // Storage is blocked or full. The setting lasts until the page is closed.
    }
  }
  return [useStore(setting) as T, remember]
}
