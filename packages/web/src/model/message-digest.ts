import type { Message } from '@retake/tape'

/**
 * Names a message, so that two can be compared without keeping them. What a model
 * thought is left out: a client may send an answer back without it. Not safe against
 * somebody who makes two messages with one name on purpose.
 */
export function messageDigest({ role, parts }: Message): string {
  const said = parts.filter((part) => part.type !== 'reasoning')
  return textDigest(JSON.stringify([role, said]))
}

/** Two 32-bit hashes and the length. */
export function textDigest(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}.${text.length.toString(36)}`
}
