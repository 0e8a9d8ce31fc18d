import { useLayoutEffect, useMemo, useRef } from 'react'
import { IS_MAC } from '../design/button.js'
import { readRemembered, useRemembered } from '../design/remembered.js'
import { Store, useStore } from '../design/store.js'

/**
 * Runs the command of a key, except while the user types. In a dialog, only commands for dialogs run.
 * Of two commands with the same key, the later one wins.
 */
export function listenToKeys(): () => void {
  const listen = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return
    const pressed = keyOf(event)
    const isForWriters = pressed.startsWith('Mod+') || pressed === 'Escape'
    if (isWriting(event.target) && !isForWriters) return
    // The focused element handles these keys itself.
    const isPress = pressed === 'Enter' || pressed === ' '
    if (isPress && event.target instanceof Element && event.target.closest(CONTROLS) !== null)
      return
    const settings = validSettings(readRemembered<unknown>(KEY, USUAL))
    const isInDialog = document.querySelector(DIALOGS) !== null
    const command = registry
      .get()
      .findLast(
        (each) =>
          (!isInDialog || each.inDialogs === true) && keysOf(each, settings).includes(pressed),
      )
    if (command === undefined) return
    event.preventDefault()
    if (command.disabled === undefined) command.run()
  }
  addEventListener('keydown', listen)
  return () => removeEventListener('keydown', listen)
}

const DIALOGS = '[role="dialog"], [role="alertdialog"], [role="menu"]'

const CONTROLS =
  'button, a[href], summary, [role="button"], [role="tab"], [role="menuitem"], [role="option"], [role="checkbox"], input, select'

const NOT_WRITTEN_IN = /^(checkbox|radio|button|submit|reset|range|color|file)$/

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !NOT_WRITTEN_IN.test(target.type)
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName)
}

/** Commands of the current page. Of two with the same id, the later one wins. */
class CommandRegistry extends Store<readonly PageCommand[]> {
  #groups: readonly (readonly PageCommand[])[] = []

  add(commands: readonly PageCommand[]): () => void {
    this.#setGroups([...this.#groups, commands])
    return () => this.#setGroups(this.#groups.filter((group) => group !== commands))
  }

  #setGroups(groups: readonly (readonly PageCommand[])[]): void {
    this.#groups = groups
    this.set([...new Map(groups.flat().map((command) => [command.id, command])).values()])
  }
}

export const registry = new CommandRegistry([])

export type KeyPress = Pick<
  KeyboardEvent,
  'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'
> & { readonly code?: string; getModifierState?(name: string): boolean }

/**
 * A key in the notation of commands. Omits modifiers that only produce the character (Shift, AltGr,
 * Option on a Mac). For keyboard layouts of other scripts, uses the physical key.
 */
export function keyOf(event: KeyPress, isMac = IS_MAC): string {
  const isCharacter = event.key.length === 1
  const isThirdLevel =
    isCharacter &&
    (event.getModifierState?.('AltGraph') === true || (isMac && event.altKey && !event.metaKey))
  const isMod = (isMac ? event.metaKey : event.ctrlKey) && !isThirdLevel
  return [
    ...(isMod ? ['Mod'] : []),
    // Ctrl on a Mac and Meta elsewhere belong to the system, so this is another key.
    ...((isMac ? event.ctrlKey : event.metaKey) ? ['Other'] : []),
    ...(event.altKey && !isThirdLevel ? ['Alt'] : []),
    ...(event.shiftKey && (!isCharacter || isMod) ? ['Shift'] : []),
    isCharacter ? characterOf(event, isMod) : event.key,
  ].join('+')
}

function characterOf({ key, code = '' }: KeyPress, isMod: boolean): string {
  const letter = /^Key([A-Z])$/.exec(code)?.[1]
  const isOtherScript = letter !== undefined && (key.codePointAt(0) ?? 0) > 0x24f
  const character = isOtherScript ? letter.toLowerCase() : key
  return isMod ? character.toLowerCase() : character
}

/** WCAG 2.1.4 requires that single-character keys can be changed and turned off. */
interface KeySettings {
  readonly singleKeys: boolean
  readonly changed: Readonly<Record<string, readonly string[]>>
}

const KEY = 'keys'
const USUAL: KeySettings = { singleKeys: true, changed: {} }

export function useKeySettings(): [KeySettings, (settings: KeySettings) => void] {
  const [stored, store] = useRemembered<unknown>(KEY, USUAL)
  return [useMemo(() => validSettings(stored), [stored]), store]
}

// Single characters can be pressed by accident or by speech input.
export const keysOf = (
  { id, keys }: Pick<PageCommand, 'id' | 'keys'>,
  { singleKeys, changed }: KeySettings,
): readonly string[] =>
  (Object.hasOwn(changed, id) ? (changed[id] ?? keys) : keys).filter(
    (key) => singleKeys || key.length !== 1,
  )

/** Validates stored settings, which may be anything. */
function validSettings(stored: unknown): KeySettings {
  if (typeof stored !== 'object' || stored === null) return USUAL
  const { singleKeys, changed } = stored as Partial<Record<keyof KeySettings, unknown>>
  const pairs = typeof changed === 'object' && changed !== null ? Object.entries(changed) : []
  return {
    singleKeys: singleKeys !== false,
    changed: Object.fromEntries(
      pairs.filter(
        (pair): pair is [string, string[]] =>
          Array.isArray(pair[1]) && pair[1].every((key) => typeof key === 'string'),
      ),
    ),
  }
}

/**
 * A user action. Keys, palette and help are generated from commands, so every command works without a
 * mouse.
 */
export interface PageCommand {
  readonly id: string
  readonly title: string
  readonly group: (typeof GROUPS)[number]
  /** For example `j`, `Shift+F10`, `Mod+k`; `Mod` is Cmd on a Mac and Ctrl elsewhere. */
  readonly keys: readonly string[]
  /** Why it is not available; the palette shows the reason. */
  readonly disabled?: string | undefined
  readonly inDialogs?: boolean
  readonly words?: string
  readonly run: () => void
}

/** Registers one command; without options, only its keys. */
type AddCommand = (
  group: PageCommand['group'],
  id: string,
  title: string,
  options: readonly string[] | Partial<Omit<PageCommand, 'group' | 'id' | 'title' | 'run'>>,
  run: () => void,
) => void

export const GROUPS = ['Move', 'Look', 'Change', 'Share', 'View'] as const

/**
 * Registers commands while the component is mounted. Functions may change with every render; titles,
 * keys and reasons are compared. Registers before paint, so that keys work as soon as something is
 * visible.
 */
export function useCommands(offer: (add: AddCommand) => void): readonly PageCommand[] {
  const commands: PageCommand[] = []
  offer((group, id, title, options, run) => {
    const more = 'length' in options ? { keys: options } : options
    commands.push({ group, id, title, keys: [], ...more, run })
  })

  const latest = useRef(commands)
  useLayoutEffect(() => {
    latest.current = commands
  })
  const shape = JSON.stringify(commands.map(({ run: _run, ...rest }) => rest))
  useLayoutEffect(() => {
    const offered = latest.current.map((command, index) => ({
      ...command,
      run: () => latest.current[index]?.run(),
    }))
    return registry.add(offered)
  }, [shape])
  return commands
}

export const useAllCommands = (): readonly PageCommand[] => useStore(registry)
