import type { ReactNode } from 'react'
import { keysOf, useKeySettings } from '../commands/key-settings.js'
import { useAllCommands } from '../commands/use-commands.js'
import { IconButton } from '../design/icon-button.js'

export interface CommandButtonProps {
  /** Id of the command; nothing is shown while there is none. */
  readonly command: string
  readonly icon: ReactNode
}

/** A command as a button: its name, its key, and not to be pressed when it cannot be done. */
export function CommandButton({ command: id, icon }: CommandButtonProps) {
  const command = useAllCommands().find((each) => each.id === id)
  const [settings] = useKeySettings()
  if (command === undefined) return null
  return (
    <IconButton
      label={command.title}
      icon={icon}
      keys={keysOf(command, settings)[0]}
      disabled={command.disabled !== undefined}
      onClick={command.run}
    />
  )
}
