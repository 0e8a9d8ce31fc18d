import { readFileSync } from 'node:fs'
import { inflateRawSync } from 'node:zlib'

/** The blocks of data in a report, decoded as they are in the browser. */
export function blocksOf(file: string): Map<string, Buffer> {
  const html = readFileSync(file, 'utf8')
  const blocks = new Map<string, Buffer>()
  for (const [, type = '', id = '', text = ''] of html.matchAll(
    /<script type="([^"]+)" id="([^"]+)">([^<]*)<\/script>/g,
  ))
    blocks.set(
      id,
      type === 'application/json' ? Buffer.from(text) : inflateRawSync(Buffer.from(text, 'base64')),
    )
  return blocks
}
