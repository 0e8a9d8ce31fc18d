import { readFileSync } from 'node:fs'

export const shop: string = readFileSync(new URL('shop.md', import.meta.url), 'utf8').trim()
