const NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u

/** A path as people write it: `items[0].price`; empty for the whole value. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (typeof key === 'string' && !NAME.test(key)) text += `[${JSON.stringify(key)}]`
    else text += text === '' ? String(key) : `.${String(key)}`
  }
  return text
}
