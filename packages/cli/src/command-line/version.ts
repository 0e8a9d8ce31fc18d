import { readFileSync } from 'node:fs'
import { cliRoot } from '../package-root.js'

/** Version of the command line. */
export function version(): string {
  const manifest = readFileSync(new URL('package.json', cliRoot), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
