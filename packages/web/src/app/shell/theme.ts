import { onRemembered, readRemembered, useRemembered } from '../design/remembered.js'

export type Theme = 'light' | 'dark' | 'system'

const KEY = 'theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

function apply(): void {
  const wanted = readRemembered<Theme>(KEY, 'system')
  const isDark = wanted === 'dark' || (wanted !== 'light' && dark.matches)
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
}

// Runs before the first paint.
apply()
dark.addEventListener('change', apply)
onRemembered(KEY, 'system', apply)

export const useTheme = (): [Theme, (theme: Theme) => void] => useRemembered<Theme>(KEY, 'system')
