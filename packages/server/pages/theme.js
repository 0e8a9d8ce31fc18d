// Applies the theme chosen in the viewer. Runs before the first paint.
{
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const chosen = () => {
    try {
      return JSON.parse(localStorage.getItem('retake.theme'))
    } catch {
      return undefined
    }
  }
  const apply = () => {
    const theme = chosen()
    const isDark = theme === 'dark' || (theme !== 'light' && dark.matches)
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
  }
  apply()
  dark.addEventListener('change', apply)
}
