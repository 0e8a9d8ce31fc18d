/** One server-sent event; data is JSON unless it is text. */
export const sseText = (data: unknown, event?: string): string => {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}
