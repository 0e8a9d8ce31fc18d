const CLASSES = [
  'Object',
  'Array',
  'Date',
  'RegExp',
  'Map',
  'Set',
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'EvalError',
  'ReferenceError',
  'URIError',
  'AggregateError',
] as const

type Realm = Readonly<Record<(typeof CLASSES)[number], { readonly prototype: object }>>

/** Gives plain data that was made here the classes of another realm, so that `instanceof` holds there. */
export function adoptValue<T>(value: T, realm: typeof globalThis): T {
  const prototypes = new Map<unknown, object>(
    CLASSES.map((name) => [
      (globalThis as Realm)[name].prototype,
      (realm as Realm)[name].prototype,
    ]),
  )
  const seen = new Set<unknown>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return
    seen.add(node)
    const theirs = prototypes.get(Object.getPrototypeOf(node))
    if (theirs === undefined) return
    Object.setPrototypeOf(node, theirs)
    if (node instanceof realm.Map) node.forEach((member, key) => [key, member].forEach(visit))
    if (node instanceof realm.Set) node.forEach(visit)
    for (const key of Reflect.ownKeys(node)) {
      const property = Object.getOwnPropertyDescriptor(node, key)
      if (property && 'value' in property) visit(property.value)
    }
  }
  visit(value)
  return value
}
