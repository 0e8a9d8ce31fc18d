type Path = readonly (string | number)[]

/** Where data holds something that it is inside of, as aliases in a file can make it; undefined where it is a tree. */
export function findCircle(data: unknown): Path | undefined {
  const around = new Set<object>()
  const whole = new Set<object>()
  const look = (value: unknown, path: Path): Path | undefined => {
    if (typeof value !== 'object' || value === null || whole.has(value)) return undefined
    if (around.has(value)) return path
    around.add(value)
    for (const [key, member] of Object.entries(value)) {
      const found = look(member, [...path, Array.isArray(value) ? Number(key) : key])
      if (found !== undefined) return found
    }
    around.delete(value)
    whole.add(value)
    return undefined
  }
  return look(data, [])
}
