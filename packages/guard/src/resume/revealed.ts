import type { BodyForm } from '@retake/tape/format'
import type { SecretMask } from '@retake/engine/hook'

interface Stored {
  readonly as: BodyForm | undefined
  readonly body: Uint8Array
}

/** A stored result with the secrets of this process in it again, where the tape had to hide them. */
export function revealed({ as, body }: Stored, secrets: SecretMask): Stored {
  if (as === undefined || as === 'bytes') return { as, body }
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const shown = secrets.reveal(text)
  if (as === 'json' && !isJson(shown)) return { as, body }
  return shown === text ? { as, body } : { as, body: Buffer.from(shown, 'utf8') }
}

/** A secret with quotes in it would break the value it stands in. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
