import { useMemo } from 'react'
import { readRemembered, useRemembered } from '../design/remembered.js'
import type { Command } from './command.js'
import { isSingleKey } from './key-of.js'

/** Which keys somebody wants: WCAG 2.1.4 asks that those of one character can be changed and turned off. */
export interface KeySettings {
  readonly singleKeys: boolean
  /** Keys by id of the command, instead of its own. */
  readonly changed: Readonly<Record<string, readonly string[]>>
}

const KEY = 'keys'
const USUAL: KeySettings = { singleKeys: true, changed: {} }

export const readKeySettings = (): KeySettings => sane(readRemembered<unknown>(KEY, USUAL))

export function useKeySettings(): [KeySettings, (settings: KeySettings) => void] {
  const [stored, store] = useRemembered<unknown>(KEY, USUAL)
  return [useMemo(() => sane(stored), [stored]), store]
}

/** The keys of a command as they are now. */
export const keysOf = (
  { id, keys }: Pick<Command, 'id' | 'keys'>,
  { singleKeys, changed }: KeySettings,
): readonly string[] =>
  (Object.hasOwn(changed, id) ? (changed[id] ?? keys) : keys).filter(
    (key) => singleKeys || !isSingleKey(key),
  )

/** What the browser kept may be anything. */
function sane(stored: unknown): KeySettings {
  if (typeof stored !== 'object' || stored === null) return USUAL
  const { singleKeys, changed } = stored as Partial<Record<keyof KeySettings, unknown>>
  const pairs = typeof changed === 'object' && changed !== null ? Object.entries(changed) : []
  return {
    singleKeys: singleKeys !== false,
    changed: Object.fromEntries(
      pairs.filter(
        (pair): pair is [string, string[]] =>
          Array.isArray(pair[1]) && pair[1].every((key) => typeof key === 'string'),
      ),
    ),
  }
}
