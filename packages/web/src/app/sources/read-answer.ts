import type { JSONParsed } from 'hono/utils/types'

/**
 * What a server sent as JSON, as it was before. It is the same value: JSON leaves out
 * fields that are undefined, and ours hold nothing else that JSON cannot say.
 */
export async function readAnswer<T>(response: { json(): Promise<JSONParsed<T>> }): Promise<T> {
  return (await response.json()) as T
}
