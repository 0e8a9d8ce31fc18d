import { hc } from 'hono/client'
import type { Api } from '../../api/api.js'

/** The API of the server this page came from. The header is one that no other page can set unasked. */
export const client = hc<Api>('/api', { headers: { 'x-retake': '1' } })
