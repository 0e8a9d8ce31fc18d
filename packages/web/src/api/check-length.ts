import type { Context } from 'hono'
import { bodyTooLarge, lengthMissing } from '../errors.js'

/** Stops bodies without end: they are refused by their announced length, unread. */
export function checkLength(c: Context, limit: number): void {
  if (c.req.header('transfer-encoding') !== undefined) throw lengthMissing()
  const bytes = Number(c.req.header('content-length') ?? 0)
  if (bytes > limit) throw bodyTooLarge(bytes, limit)
}
