/**
 * One thing a person can do. The keyboard, the palette and the page of keys are all
 * made from these, so whatever has a command can be reached without a mouse.
 */
export interface Command {
  readonly id: string
  /** What it does, as the palette says it. */
  readonly title: string
  readonly group: 'Move' | 'Look' | 'Change' | 'Share' | 'View'
  /** For example `j`, `Shift+F10`, `Mod+k`; `Mod` is Cmd on a Mac and Ctrl elsewhere. People may change them. */
  readonly keys: readonly string[]
  /** Why it cannot be done now; the palette shows the reason. */
  readonly disabled?: string | undefined
  /** Its keys work also while a dialog is open. */
  readonly inDialogs?: boolean
  /** More words to find it by. */
  readonly words?: string
  readonly run: () => void
}

export const GROUPS = [
  'Move',
  'Look',
  'Change',
  'Share',
  'View',
] as const satisfies readonly Command['group'][]
