const NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u

/** A path such as `items[0].price` or `headers["x y"]`; empty for the whole value. */
export function keyPathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'symbol' || NAME.test(String(key)))
      text += text === '' ? String(key) : `.${String(key)}`
    else text += `[${/^\d+$/.test(String(key)) ? key : JSON.stringify(key)}]`
  }
  return text
}
