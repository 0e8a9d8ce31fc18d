import { keyText } from '@retake/tape'

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

/** The tab that shows a field; undefined for fields above the tabs. */
export function tabOfField(path: string): string | undefined {
  const [root = ''] = readFieldPath(path)
  return Object.hasOwn(TABS, root) ? TABS[root] : undefined
}

/**
 * Extends a field path. Paths use the notation of `retake fork --set`: keys separated by dots, with
 * quotes around keys that contain special characters.
 */
export const joinPath = (base: string, key: string): string =>
  `${base === '' ? '' : `${base}.`}${keyText({ key, quoted: false })}`

const KEY = /"((?:\\[^]|[^"\\])*)"|((?:\\[^]|[^.\\])+)/y

/** The keys of a path, up to the first invalid one, because a link may come from anywhere. */
export function readFieldPath(path: string): string[] {
  const keys: string[] = []
  let at = 0
  while (at < path.length) {
    KEY.lastIndex = at
    const found = KEY.exec(path)
    if (found === null) break
    keys.push((found[1] ?? found[2] ?? '').replaceAll(/\\([^])/g, '$1'))
    at += found[0].length + 1
  }
  return keys
}

/** The keys after `base`; undefined if the path does not start with it. */
export function keysWithin(base: string, path: string | undefined): string[] | undefined {
  if (path === undefined) return undefined
  const [outer, all] = [readFieldPath(base), readFieldPath(path)]
  return outer.every((key, index) => all[index] === key) ? all.slice(outer.length) : undefined
}
