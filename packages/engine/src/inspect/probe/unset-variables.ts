import { declarationsIn, type Declaration, type ScopeKind } from './declarations.js'
import type { InspectorLink } from './inspector-link.js'
import type { CallFrame, ScriptLocation } from './protocol.js'

/**
 * Finds the variables of a frame that have no value yet. V8 does not know: inside a loop it reports
 * the value of the previous iteration for a `const` that is still to be assigned. The source shows
 * it, because code before the end of a declaration runs before it. Variables of enclosing functions
 * are left to V8, which handles those correctly.
 */
export class UnsetVariables {
  readonly #sources = new Map<string, Promise<ScriptSource>>()
  readonly #declared = new Map<string, readonly Declaration[]>()

  constructor(readonly link: InspectorLink) {}

  /** For each scope of the frame, innermost first, the names that are unset. */
  async of({ location, scopeChain }: CallFrame): Promise<readonly ReadonlySet<string>[]> {
    const kinds = ownScopes(scopeChain)
    if (kinds.every((kind) => kind === undefined)) return []
    const source = await this.#sourceOf(location.scriptId)
    const at = source.offset(location)
    const nearer = new Set<string>()
    return kinds.map((kind, index) => {
      const start = scopeChain[index]?.startLocation
      if (kind === undefined || start === undefined) return NONE
      const from = source.offset(start)
      const key = `${start.scriptId} ${from} ${kind}`
      const known = this.#declared.get(key) ?? declarationsIn(source.text, kind, from)
      this.#declared.set(key, known)
      const visible = known.filter(({ name }) => !nearer.has(name))
      for (const { name } of visible) nearer.add(name)
      return new Set(visible.filter(({ readyAt }) => at < readyAt).map(({ name }) => name))
    })
  }

  #sourceOf(scriptId: string): Promise<ScriptSource> {
    const known =
      this.#sources.get(scriptId) ??
      this.link
        .post<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId })
        .then(({ scriptSource }) => new ScriptSource(scriptSource))
    this.#sources.set(scriptId, known)
    return known
  }
}

const NONE: ReadonlySet<string> = new Set()

/** The scopes of the running function; undefined for scopes that declare no variables of this kind. */
function ownScopes(scopeChain: CallFrame['scopeChain']): (ScopeKind | undefined)[] {
  const kinds: (ScopeKind | undefined)[] = []
  for (const { type, startLocation } of scopeChain) {
    // The function around a CommonJS file starts where the file starts.
    const isFile = startLocation?.lineNumber === 0 && (startLocation.columnNumber ?? 0) === 0
    if (type === 'block') kinds.push('block')
    else if (type === 'local') return [...kinds, isFile ? 'file' : 'function']
    else if (type === 'module' || type === 'script') return [...kinds, 'file']
    else if (type === 'catch') kinds.push(undefined)
    else return kinds
  }
  return kinds
}

class ScriptSource {
  readonly #lineStarts: readonly number[]

  constructor(readonly text: string) {
    const breaks = text.matchAll(/\r\n|[\n\r\u2028\u2029]/g)
    this.#lineStarts = [0, ...Array.from(breaks, ({ index, 0: { length } }) => index + length)]
  }

  offset({ lineNumber, columnNumber = 0 }: ScriptLocation): number {
    return (this.#lineStarts[lineNumber] ?? this.text.length) + columnNumber
  }
}
