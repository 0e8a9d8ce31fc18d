import type { Context } from 'hono'

/**
 * Marks an answer as a file to keep. What a tape holds is never shown by the browser
 * itself: as a page of ours it could do whatever the viewer can.
 */
export function answerDownload(c: Context, name: string): void {
  c.header('content-type', 'application/octet-stream')
  c.header('content-disposition', `attachment; filename="${name.replaceAll(/[^\w.-]+/g, '_')}"`)
}
