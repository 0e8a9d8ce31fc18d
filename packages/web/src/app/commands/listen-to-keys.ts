import { registry } from './command-registry.js'

const IS_MAC = typeof navigator !== 'undefined' && /mac/i.test(navigator.platform)

/** Runs the command of a key wherever it is pressed, but not while somebody writes. */
export function listenToKeys(): () => void {
  const listen = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return
    const pressed = keyOf(event)
    if (isWriting(event.target) && !pressed.startsWith('Mod+')) return
    const command = registry.all().findLast(({ keys }) => keys.includes(pressed))
    if (command === undefined) return
    event.preventDefault()
    if (command.disabled === undefined) command.run()
  }
  addEventListener('keydown', listen)
  return () => removeEventListener('keydown', listen)
}

/** A key as commands name it. A letter says itself whether Shift is held. */
export function keyOf(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>,
): string {
  const isMod = IS_MAC ? event.metaKey : event.ctrlKey
  const isNamed = event.key.length > 1
  return [
    ...(isMod ? ['Mod'] : []),
    ...(event.altKey ? ['Alt'] : []),
    ...(event.shiftKey && isNamed ? ['Shift'] : []),
    event.key,
  ].join('+')
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}
