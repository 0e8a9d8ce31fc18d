import { CSPProvider } from '@base-ui/react/csp-provider'
import { Outlet, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useCommands } from '../commands/commands.js'
import { HelpDialog } from '../commands/help-dialog.js'
import { Palette } from '../commands/palette.js'
import { Toasts } from '../design/toast.js'
import { useBackend } from '../sources/backend.js'
import { useTheme } from './theme.js'

export function Shell() {
  const [open, setOpen] = useState<'palette' | 'help'>()
  const [, setTheme] = useTheme()
  const backend = useBackend()
  const navigate = useNavigate()
  const close = (): void => setOpen(undefined)
  useCommands((add) => {
    const find = { keys: ['Mod+k'], inDialogs: true }
    add('View', 'palette', 'Find a command, run or step', find, () =>
      setOpen(open === 'palette' ? undefined : 'palette'),
    )
    const help = { keys: ['?'], words: 'help shortcuts settings' }
    add('View', 'help', 'Show all keys', help, () => setOpen('help'))
    add('View', 'theme.light', 'Light theme', [], () => setTheme('light'))
    add('View', 'theme.dark', 'Dark theme', [], () => setTheme('dark'))
    add('View', 'theme.system', 'System theme', [], () => setTheme('system'))
    if (backend.onlyRun === undefined)
      add('Move', 'runs', 'Go to all runs', [], () => void navigate({ to: '/' }))
  })
  return (
    <CSPProvider disableStyleElements>
      <Outlet />
      <Palette isOpen={open === 'palette'} onClose={close} />
      <HelpDialog isOpen={open === 'help'} onClose={close} />
      <Toasts />
    </CSPProvider>
  )
}
