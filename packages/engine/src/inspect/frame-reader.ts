import type { DescribeLimits, Described } from './describe-value.js'
import type { RawAsyncFrame } from './inspector-tools.js'
import { printDescribed } from './print-described.js'
import type { CallFrame } from './protocol.js'
import type { Scripts } from './scripts.js'
import type { Frame, Stop, Value, Variable } from './stop.js'

export type CallTool = <T>(name: string, ...args: readonly ToolArgument[]) => Promise<T>
export type ToolArgument =
  | { readonly objectId: string }
  | { readonly unserializableValue: string }
  | { readonly value: unknown }

/** Enough to recognise a value, small enough for a hundred variables. */
export const GLANCE: DescribeLimits = { depth: 4, items: 50, characters: 2000, values: 1000 }
export const IN_FULL: DescribeLimits = {
  depth: 30,
  items: 10_000,
  characters: 1_000_000,
  values: 200_000,
}

const FRAMES_MAX = 60
const VARIABLES_MAX = 200

/** Reads the stack of a stopped thread. */
export class FrameReader {
  readonly #scripts: Scripts
  readonly #call: CallTool

  constructor(scripts: Scripts, call: CallTool) {
    this.#scripts = scripts
    this.#call = call
  }

  async read(
    callFrames: readonly CallFrame[],
  ): Promise<Pick<Stop, 'location' | 'frames' | 'asyncFrames'>> {
    const [frames, asyncFrames] = await Promise.all([
      Promise.all(callFrames.slice(0, FRAMES_MAX).map((frame) => this.#frame(frame))),
      this.#asyncFrames(),
    ])
    return { location: frames.find(({ isUser }) => isUser)?.location, frames, asyncFrames }
  }

  async #frame({ functionName, location, scopeChain }: CallFrame): Promise<Frame> {
    const isUser = this.#scripts.isUsers(location.scriptId)
    return {
      name: functionName,
      location: this.#scripts.locate(location),
      isUser,
      variables: isUser ? await this.#variables(scopeChain) : [],
    }
  }

  async #variables(scopeChain: CallFrame['scopeChain']): Promise<Variable[]> {
    const scopes = await Promise.all(
      scopeChain
        .filter(({ type }) => type !== 'global')
        .map(async ({ type, object }) => {
          const args = [
            { objectId: object.objectId ?? '' },
            { value: GLANCE },
            { value: VARIABLES_MAX },
          ]
          const found = await this.#call<[string, Described][]>('describeScope', ...args)
          return found.map(([name, value]): Variable => ({ name, scope: type, ...valueOf(value) }))
        }),
    )
    const nearest = new Map<string, Variable>()
    for (const variable of scopes.flat())
      if (!nearest.has(variable.name)) nearest.set(variable.name, variable)
    return [...nearest.values()].slice(0, VARIABLES_MAX)
  }

  async #asyncFrames(): Promise<Stop['asyncFrames']> {
    const raw = await this.#call<RawAsyncFrame[]>('asyncFrames')
    return raw.map(({ name, url, line, column }) => {
      const { isUser, ...location } = this.#scripts.locateUrl(url, line, column)
      return { name, location, isUser }
    })
  }
}

export const valueOf = ({ type, json, cut }: Described): Value => ({
  type,
  text: printDescribed(json),
  json,
  cut,
})
