/**
 * One thing a person can do. The keyboard, the palette and the page of keys are all
 * made from these, so whatever has a command can be reached without a mouse.
 */
export interface Command {
  readonly id: string
  /** What it does, as the palette says it. */
  readonly title: string
  readonly group: 'Move' | 'Look' | 'Change' | 'Share' | 'View'
  /** For example `j`, `Shift+F10`, `Mod+k`; `Mod` is Cmd on a Mac and Ctrl elsewhere. */
  readonly keys: readonly string[]
  /** Why it cannot be done now; the palette shows the reason. */
  readonly disabled?: string | undefined
  readonly run: () => void
}
