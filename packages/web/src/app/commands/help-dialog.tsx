import { type KeyboardEvent, useState } from 'react'
import { Button, Kbd } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { Checkbox } from '../design/fields.js'
import {
  type PageCommand,
  GROUPS,
  keyOf,
  keysOf,
  useAllCommands,
  useKeySettings,
} from './commands.js'

interface HelpRowProps {
  readonly command: PageCommand
  readonly keys: readonly string[]
  readonly rivals: (key: string) => readonly string[]
}

const MODIFIERS = new Set(['Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock', 'Dead'])

function HelpRow({ command, keys, rivals }: HelpRowProps) {
  const [isListening, setIsListening] = useState(false)
  const [settings, setSettings] = useKeySettings()
  const isChanged = Object.hasOwn(settings.changed, command.id)
  const shared = keys.flatMap((key) => rivals(key))

  const take = (event: KeyboardEvent): void => {
    if (!isListening || event.key === 'Tab' || MODIFIERS.has(event.key)) return
    event.preventDefault()
    event.stopPropagation()
    setIsListening(false)
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
        aria-pressed={isListening}
        title="Change the key"
        className="inline-flex min-h-6 items-center gap-1 rounded border border-transparent px-1 hover:border-line-strong aria-pressed:border-accent"
        onClick={() => setIsListening(!isListening)}
        onBlur={() => setIsListening(false)}
        onKeyDown={take}
      >
        <span className="sr-only">Change the key of “{command.title}”:</span>
        {isListening ? (
          <span className="text-sm text-accent">Press a key, or Delete to remove it</span>
        ) : keys.length === 0 ? (
          <span className="text-sm text-muted">no key</span>
        ) : (
          keys.map((key) => <Kbd key={key} keys={key} />)
        )}
      </button>
    </li>
  )
}

/** All keys of the page. They can be changed here, and single-character keys can be turned off. */
export function HelpDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const commands = useAllCommands()
  const [settings, setSettings] = useKeySettings()
  const isChanged = Object.keys(settings.changed).length > 0
  return (
    <Dialog
      title="Keys"
      description="All commands of this page. Keys are off while you type."
      size="large"
      isOpen={isOpen}
      onClose={onClose}
    >
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <Checkbox
          label="Single-key shortcuts"
          hint="If off, only named keys such as F10 and keys with Ctrl or Cmd work."
          isChecked={settings.singleKeys}
          onChange={(singleKeys) => setSettings({ ...settings, singleKeys })}
        />
        {isChanged && (
          <Button onClick={() => setSettings({ ...settings, changed: {} })}>Reset all keys</Button>
        )}
      </div>
      <div className="gap-x-8 sm:columns-2">
        {GROUPS.map((group) => (
          <Group key={group} title={group} commands={commands} />
        ))}
      </div>
    </Dialog>
  )
}

function Group({
  title,
  commands,
}: {
  title: PageCommand['group']
  commands: readonly PageCommand[]
}) {
  const [settings] = useKeySettings()
  const own = commands.filter(({ group }) => group === title)
  if (own.length === 0) return null
  return (
    <section aria-label={title} className="mb-4 break-inside-avoid">
      <h3 className="mb-1 border-b border-line pb-1 text-sm text-muted">{title}</h3>
      <ul>
        {own.map((command) => (
          <HelpRow
            key={command.id}
            command={command}
            keys={keysOf(command, settings)}
            rivals={(key) =>
              commands
                .filter((each) => each.id !== command.id && keysOf(each, settings).includes(key))
                .map((each) => each.title)
            }
          />
        ))}
      </ul>
    </section>
  )
}
