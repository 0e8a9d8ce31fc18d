/** At most the first `length` characters; never ends in half a surrogate pair. */
export function cutAt(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length)
}

/** Shortens text to `length` characters, ending in an ellipsis if it was cut. */
export const clipText = (text: string, length: number): string =>
  text.length > length ? `${cutAt(text, length - 1)}…` : text
