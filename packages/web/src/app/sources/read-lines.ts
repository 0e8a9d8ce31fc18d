/** The lines of an answer, each a piece of JSON, as they arrive. */
export async function* readLines<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return
  let rest = ''
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  for (;;) {
    const { value, done } = await reader.read()
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as T
    if (done) return
  }
}
