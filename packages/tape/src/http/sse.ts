/** One server-sent event; `data` is encoded as JSON unless it is text. */
export const sseText = (data: unknown, event?: string): string => {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}

/** One piece of a body with its arrival time, in milliseconds since the run started. */
export interface TimedChunk {
  readonly at: number
  readonly bytes: Uint8Array
}

export interface SseEvent {
  /** Name of the event; `message` by default. */
  readonly event: string
  readonly data: string
  readonly id?: string
  /** Arrival time of the piece that completed it. */
  readonly at: number
}

/**
 * Parses server-sent events from chunks that may be split anywhere, even inside a character.
 * Includes an incomplete last event.
 */
export const parseSse = (chunks: readonly TimedChunk[]): SseEvent[] => {
  const events: SseEvent[] = []
  const decoder = new TextDecoder()
  let pending = ''
  let draft = new EventDraft()
  let at = 0
  const readLine = (line: string): void => {
    if (line !== '') {
      draft.add(line)
      return
    }
    const event = draft.finish(at)
    if (event !== undefined) events.push(event)
    draft = new EventDraft()
  }
  const readText = (text: string, isLast: boolean): void => {
    // A CR at the very end may be half of a CRLF: wait for the next piece.
    const isSplit = !isLast && text.endsWith('\r')
    const lines = (isSplit ? text.slice(0, -1) : text).split(/\r\n|\n|\r/)
    pending = (lines.pop() ?? '') + (isSplit ? '\r' : '')
    for (const line of lines) readLine(line)
  }
  for (const chunk of chunks) {
    at = chunk.at
    readText(pending + decoder.decode(chunk.bytes, { stream: true }), false)
  }
  readText(pending + decoder.decode(), true)
  readLine(pending)
  readLine('')
  return events
}

class EventDraft {
  #event = 'message'
  #id: string | undefined
  readonly #data: string[] = []

  add(line: string): void {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id') this.#id = value
  }

  /** Events without data are not dispatched. */
  finish(at: number): SseEvent | undefined {
    if (this.#data.length === 0) return undefined
    const id = this.#id === undefined ? {} : { id: this.#id }
    return { event: this.#event, data: this.#data.join('\n'), ...id, at }
  }
}
