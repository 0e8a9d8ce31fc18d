import { toBase64 } from '../format/values/bytes.js'
import type { BodyForm, TapeEvent } from '../format/events.js'
import { isTooDeep } from '../format/values/json-shape.js'
import { plainJson } from '../format/values/plain-json.js'
import type { TapeLike } from '../format/tape-like.js'

/** One object per event, to be written as a line of JSON. */
export type EventLine = TapeEvent & { readonly body?: unknown }

/**
 * A tape as lines for `grep` and `jq`. Text bodies are text, encoded values plain JSON, all others
 * `{ base64 }`. For reading only: a tape cannot be rebuilt from them.
 */
export function* eventLines(tape: TapeLike): Generator<EventLine> {
  for (const event of tape.events()) {
    const body = tape.body(event.seq)
    const form = 'as' in event ? event.as : undefined
    yield body.length === 0
      ? event
      : { ...event, body: readableBody(event.type === 'run' ? 'json' : form, body) }
  }
}

const readableBody = (form: BodyForm | undefined, body: Uint8Array): unknown => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    return form === 'json' && !isTooDeep(text) ? plainJson(JSON.parse(text)) : text
  } catch {
    return { base64: toBase64(body) }
  }
}
