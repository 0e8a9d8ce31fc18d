import type { SseEvent, TimedChunk } from './sse.js'

/**
 * Lines of JSON as events, out of chunks cut anywhere. The last line counts
 * without its line end: whether it is whole shows when it is parsed.
 */
export const readJsonLines = (chunks: readonly TimedChunk[]): SseEvent[] => {
  const events: SseEvent[] = []
  const decoder = new TextDecoder()
  let pending = ''
  let lastAt = 0
  const take = (line: string, at: number): void => {
    if (line.trim() !== '') events.push({ event: 'message', data: line.trim(), at })
  }
  for (const { at, bytes } of chunks) {
    const lines = (pending + decoder.decode(bytes, { stream: true })).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) take(line, at)
    lastAt = at
  }
  take(pending + decoder.decode(), lastAt)
  return events
}
