import { registry } from './command-registry.js'
import { keyOf } from './key-of.js'
import { keysOf, readKeySettings } from './key-settings.js'

/**
 * Runs the command of a key wherever it is pressed, but not while somebody writes, and
 * in a dialog only what is meant for dialogs. Of two commands with one key the later
 * one counts.
 */
export function listenToKeys(): () => void {
  const listen = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return
    const pressed = keyOf(event)
    const isForWriters = pressed.startsWith('Mod+') || pressed === 'Escape'
    if (isWriting(event.target) && !isForWriters) return
    if (isOwnKey(event.target, pressed)) return
    const settings = readKeySettings()
    const isInDialog = document.querySelector(DIALOGS) !== null
    const command = registry
      .all()
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

/** What the thing with the focus does with a key itself. */
function isOwnKey(target: EventTarget | null, pressed: string): boolean {
  if (!(target instanceof Element)) return false
  return (pressed === 'Enter' || pressed === ' ') && target.closest(CONTROLS) !== null
}

const NOT_WRITTEN_IN = /^(checkbox|radio|button|submit|reset|range|color|file)$/

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !NOT_WRITTEN_IN.test(target.type)
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName)
}
