import type { Explained } from '../../model/run-head.js'
import { HomeError } from './home-error.js'

/**
 * The lines of an answer, each a piece of JSON, as they arrive. Where the server
 * could not go on, its reason is the last line, and thrown. Whoever stops reading
 * stops the server, too.
 */
export async function* readLines<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return
  let rest = ''
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield readLine(line) as T
      if (done) return
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

function readLine(line: string): unknown {
  const value = JSON.parse(line) as { readonly $error?: Explained } | null
  if (value?.$error !== undefined) throw new HomeError(value.$error)
  return value
}
