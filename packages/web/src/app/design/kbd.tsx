import { IS_MAC } from './is-mac.js'

const NAMES: Readonly<Record<string, string>> = {
  Mod: IS_MAC ? '⌘' : 'Ctrl',
  Alt: IS_MAC ? '⌥' : 'Alt',
  Shift: IS_MAC ? '⇧' : 'Shift',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  ' ': 'Space',
}

/** The parts of a key as people know them; `+` itself is a key too. */
export const keyNames = (keys: string): readonly string[] =>
  (keys === '+' ? ['+'] : keys.replace(/\+\+$/, '+Plus').split('+')).map((part, index, all) =>
    part === 'Plus'
      ? '+'
      : (NAMES[part] ?? (all.length > 1 && part.length === 1 ? part.toUpperCase() : part)),
  )

/** A key to press, named as commands name it: `j`, `Shift+F10`, `Mod+k`. */
export function Kbd({ keys }: { readonly keys: string }) {
  return (
    <kbd className="inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-sm border border-line-strong bg-surface px-1 font-mono text-xs whitespace-nowrap text-muted">
      {keyNames(keys).join(IS_MAC ? '' : '+')}
    </kbd>
  )
}
