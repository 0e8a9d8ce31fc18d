import { clipText } from '@retake/tape/format'
import { containsSecret, SecretMask } from '@retake/engine/hook'

const LONGEST = 60

/** The rest is not shown, but helps to recognise the shown part. */
const LOOKED_AT = 500

/** Tokens, keys and the like: one long word of letters and digits, or with a known beginning. */
const TOKEN =
  /(?:^|[^\w-])(?:[a-z]{2,10}[-_](?=[\w-]*\d)[\w-]{12,}|eyJ[\w-]{8,}\.|(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{24,})|-----BEGIN|\bbearer\s+\S{8,}|\bbasic\s+[\w+/=]{8,}/i

/** Paths and addresses are long, too: there each part is looked at by itself. */
const PATH_OR_URL = /^(?:\.{0,2}\/|~\/|[a-z]:[\\/]|[a-z][a-z+.-]*:\/\/)/i

/** True if a value of this name should not be shown to anybody. Errs on the side of hiding. */
function isSecretValue(name: string, text: string): boolean {
  const start = text.slice(0, LOOKED_AT)
  const words = PATH_OR_URL.test(start) ? start.split(/[/\\?&=]/) : [start]
  return (
    containsSecret(name, start) ||
    words.some((word) => TOKEN.test(word)) ||
    containsProcessSecret(start)
  )
}

function containsProcessSecret(text: string): boolean {
  const mask = new SecretMask()
  mask.addEnvironment(process.env)
  return mask.text(text) !== text
}

/**
 * A value as an explanation shows it: clipped, on one line, and not at all when it looks
 * like a secret or stands under a name that does.
 */
export function shownValue(value: unknown, name = ''): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return containsSecret(name, '') ? 'a hidden value' : String(value)
  if (value === null) return 'null'
  const text = typeof value === 'string' ? value : jsonOf(value)
  if (isSecretValue(name, text)) return `a hidden text of ${text.length} characters`
  const clipped = clipText(text, LONGEST)
  return typeof value === 'string' ? JSON.stringify(clipped) : clipped
}

function jsonOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`
  if (value instanceof Date) return String(value)
  if (value instanceof Map) return `a map of ${value.size}`
  if (value instanceof Set) return `a set of ${value.size}`
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each,
  )
}
