import { Button } from '../design/button.js'
import { Checkbox } from '../design/checkbox.js'
import { Dialog } from '../design/dialog.js'
import { GROUPS, type Command } from './command.js'
import { HelpRow } from './help-row.js'
import { keysOf, useKeySettings } from './key-settings.js'
import { useAllCommands } from './use-commands.js'

export interface HelpDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** All keys of the page behind it; they can be changed here, and those of one character turned off. */
export function HelpDialog({ isOpen, onClose }: HelpDialogProps) {
  const commands = useAllCommands()
  const [settings, setSettings] = useKeySettings()
  const isChanged = Object.keys(settings.changed).length > 0
  return (
    <Dialog
      title="Keys"
      description="Everything that can be done on this page. Keys do nothing while you write."
      size="large"
      isOpen={isOpen}
      onClose={onClose}
    >
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <Checkbox
          label="Single-key shortcuts"
          hint="Off: only keys with Ctrl or Cmd, and named keys such as F10, do something."
          isChecked={settings.singleKeys}
          onChange={(singleKeys) => setSettings({ ...settings, singleKeys })}
        />
        {isChanged && (
          <Button onClick={() => setSettings({ ...settings, changed: {} })}>
            Give all commands their own keys back
          </Button>
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
  readonly title: Command['group']
  readonly commands: readonly Command[]
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
