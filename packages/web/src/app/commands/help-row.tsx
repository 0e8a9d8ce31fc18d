import { useState, type KeyboardEvent } from 'react'
import { Kbd } from '../design/kbd.js'
import type { Command } from './command.js'
import { keyOf } from './key-of.js'
import { useKeySettings } from './key-settings.js'

export interface HelpRowProps {
  readonly command: Command
  readonly keys: readonly string[]
  /** Titles of other commands with this key. */
  readonly rivals: (key: string) => readonly string[]
}

const MODIFIERS = new Set(['Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock', 'Dead'])

/** One command with its keys, and a button to press another one. */
export function HelpRow({ command, keys, rivals }: HelpRowProps) {
  const [isAsking, setIsAsking] = useState(false)
  const [settings, setSettings] = useKeySettings()
  const isChanged = Object.hasOwn(settings.changed, command.id)
  const shared = keys.flatMap((key) => rivals(key))

  const take = (event: KeyboardEvent): void => {
    if (!isAsking || event.key === 'Tab' || MODIFIERS.has(event.key)) return
    event.preventDefault()
    event.stopPropagation()
    setIsAsking(false)
    if (event.key === 'Escape') return
    const isRemoval = event.key === 'Backspace' || event.key === 'Delete'
    const next = isRemoval ? [] : [keyOf(event.nativeEvent)]
    setSettings({ ...settings, changed: { ...settings.changed, [command.id]: next } })
  }
  const reset = (): void => {
    const { [command.id]: _own, ...changed } = settings.changed
    setSettings({ ...settings, changed })
  }

  return (
    <li className="flex min-h-7 flex-wrap items-center gap-x-2 py-0.5">
      <span className="min-w-0 flex-1">
        {command.title}
        {shared.length > 0 && (
          <span className="block text-sm text-warning">also: {shared.join(', ')}</span>
        )}
      </span>
      {isChanged && (
        <button
          type="button"
          className="h-6 rounded px-1.5 text-sm text-accent hover:bg-sunken"
          onClick={reset}
        >
          Reset <span className="sr-only">the key of “{command.title}”</span>
        </button>
      )}
      <button
        type="button"
        aria-pressed={isAsking}
        title="Change the key"
        className="inline-flex min-h-6 items-center gap-1 rounded border border-transparent px-1 hover:border-line-strong aria-pressed:border-accent"
        onClick={() => setIsAsking(!isAsking)}
        onBlur={() => setIsAsking(false)}
        onKeyDown={take}
      >
        <span className="sr-only">Change the key of “{command.title}”:</span>
        {isAsking ? (
          <span className="text-sm text-accent">Press a key; Delete for none</span>
        ) : keys.length === 0 ? (
          <span className="text-sm text-muted">no key</span>
        ) : (
          keys.map((key) => <Kbd key={key} keys={key} />)
        )}
      </button>
    </li>
  )
}
