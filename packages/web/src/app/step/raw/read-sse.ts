/** One event of a stream, as it was written. */
export interface SseItem {
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: string
}

/** Reads the text of a stream of server-sent events. The last one counts even when it was cut off. */
export function readSse(text: string): SseItem[] {
  const items: SseItem[] = []
  let [event, id, data]: [string | undefined, string | undefined, string[]] = [
    undefined,
    undefined,
    [],
  ]
  const close = (): void => {
    if (event !== undefined || data.length > 0) items.push({ event, id, data: data.join('\n') })
    ;[event, id, data] = [undefined, undefined, []]
  }
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === '') {
      close()
      continue
    }
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'event') event = value
    else if (name === 'id') id = value
    else if (name === 'data') data.push(value)
  }
  close()
  return items
}
