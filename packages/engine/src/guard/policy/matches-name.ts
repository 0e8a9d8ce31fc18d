import type { Names } from './policy.js'

const patterns = new Map<string, RegExp>()

/** Whether a name is one of `names`, where `*` stands for any characters. */
export function matchesName(names: Names, name: string): boolean {
  if (typeof names === 'string') return matchesOne(names, name)
  return names.some((each) => matchesOne(each, name))
}

function matchesOne(pattern: string, name: string): boolean {
  if (pattern === '*' || pattern === name) return true
  if (!pattern.includes('*')) return false
  let compiled = patterns.get(pattern)
  if (compiled === undefined) {
    const source = pattern.split('*').map((part) => part.replaceAll(/[$()+.?[\\\]^{|}]/g, '\\$&'))
    patterns.set(pattern, (compiled = new RegExp(`^${source.join('.*')}$`, 's')))
  }
  return compiled.test(name)
}
