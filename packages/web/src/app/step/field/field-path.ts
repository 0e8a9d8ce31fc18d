/**
 * Paths of fields in links, as `retake fork --set` writes them: keys with dots between,
 * and quotes around a key that has a dot, a bracket, a quote or a blank in it.
 */
export const joinPath = (base: string, key: string): string =>
  base === '' ? quoteKey(key) : `${base}.${quoteKey(key)}`

const quoteKey = (key: string): string =>
  /^[^.[\]\\"'=\s]+$/.test(key) ? key : `"${key.replaceAll(/["\\]/g, '\\$&')}"`

const KEY = /"((?:\\[^]|[^"\\])*)"|((?:\\[^]|[^.\\])+)/y

/** The keys of a path. What makes no sense ends it: a link may come from anywhere. */
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

/** The keys after `base`; undefined when the path does not lead there. */
export function keysWithin(base: string, path: string | undefined): string[] | undefined {
  if (path === undefined) return undefined
  const [outer, all] = [readFieldPath(base), readFieldPath(path)]
  return outer.every((key, place) => all[place] === key) ? all.slice(outer.length) : undefined
}
