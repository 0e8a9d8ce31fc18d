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
  useCommands([
    {
      id: 'palette',
      title: 'Find a command, run or step',
      group: 'View',
      keys: ['Mod+k'],
      inDialogs: true,
      run: () => setOpen(open === 'palette' ? undefined : 'palette'),
    },
    {
      id: 'help',
      title: 'Show all keys',
      group: 'View',
      keys: ['?'],
      words: 'help shortcuts settings',
      run: () => setOpen('help'),
    },
    {
      id: 'theme.light',
      title: 'Light theme',
      group: 'View',
      keys: [],
      run: () => setTheme('light'),
    },
    { id: 'theme.dark', title: 'Dark theme', group: 'View', keys: [], run: () => setTheme('dark') },
    {
      id: 'theme.system',
      title: 'System theme',
      group: 'View',
      keys: [],
      run: () => setTheme('system'),
    },
    ...(backend.onlyRun === undefined
      ? [
          {
            id: 'runs',
            title: 'Go to all runs',
            group: 'Move' as const,
            keys: [],
            run: () => void navigate({ to: '/' }),
          },
        ]
      : []),
  ])
  return (
    <CSPProvider disableStyleElements>
      <Outlet />
      <Palette isOpen={open === 'palette'} onClose={close} />
      <HelpDialog isOpen={open === 'help'} onClose={close} />
      <Toasts />
    </CSPProvider>
  )
}
