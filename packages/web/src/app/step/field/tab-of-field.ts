import { readFieldPath } from './field-path.js'

const TABS: Readonly<Record<string, string>> = {
  messages: 'chat',
  answer: 'chat',
  args: 'call',
  result: 'call',
  output: 'call',
  mcp: 'mcp',
  request: 'request',
  response: 'response',
  error: 'error',
  failure: 'error',
  frames: 'state',
  changes: 'state',
  console: 'console',
  file: 'files',
  site: 'source',
  event: 'events',
}

/** The tab a field is in, as its path begins; undefined for what stands above the tabs. */
export function tabOfField(path: string): string | undefined {
  const [root = ''] = readFieldPath(path)
  return Object.hasOwn(TABS, root) ? TABS[root] : undefined
}
