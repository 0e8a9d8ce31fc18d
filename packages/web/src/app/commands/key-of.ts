import { IS_MAC } from '../design/is-mac.js'

export type KeyPress = Pick<
  KeyboardEvent,
  'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'
> & { readonly code?: string; getModifierState?(name: string): boolean }

/**
 * A key as commands name it. A character says itself how it was made: Shift, and what
 * gives third-level characters (AltGr, Option on a Mac), are not named with it. On a
 * layout of another script the key counts by its place.
 */
export function keyOf(event: KeyPress, isMac = IS_MAC): string {
  const isCharacter = event.key.length === 1
  const isThirdLevel =
    isCharacter &&
    (event.getModifierState?.('AltGraph') === true || (isMac && event.altKey && !event.metaKey))
  const isMod = (isMac ? event.metaKey : event.ctrlKey) && !isThirdLevel
  return [
    ...(isMod ? ['Mod'] : []),
    // Ctrl on a Mac and Meta elsewhere belong to the system; they make it another key.
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

/** A key that is only a character: it may be pressed by accident, or by somebody who speaks to the computer. */
export const isSingleKey = (key: string): boolean => key.length === 1
