import { IconButton } from '../design/icon-button.js'
import { MoonIcon, ScreenIcon, SunIcon } from '../design/icons.js'
import { Menu } from '../design/menu.js'
import { useTheme, type Theme } from './theme.js'

const THEMES: readonly { id: Theme; title: string; icon: React.ReactNode }[] = [
  { id: 'light', title: 'Light', icon: <SunIcon /> },
  { id: 'dark', title: 'Dark', icon: <MoonIcon /> },
  { id: 'system', title: 'As the system', icon: <ScreenIcon /> },
]

/** Chooses between light and dark. */
export function ThemeMenu() {
  const [theme, setTheme] = useTheme()
  const icon = THEMES.find(({ id }) => id === theme)?.icon
  return (
    <Menu
      trigger={<IconButton label="Theme" icon={icon} />}
      items={THEMES.map((each) => ({
        ...each,
        isChosen: each.id === theme,
        run: () => setTheme(each.id),
      }))}
    />
  )
}
