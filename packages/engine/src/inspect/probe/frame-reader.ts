import { UNAVAILABLE } from './describe-value.js'
import type { DescribeLimits, Described } from './describe-value.js'
import type { RawAsyncFrame } from './inspector-tools.js'
import { printDescribed } from './describe-value.js'
import type { CallFrame } from './protocol.js'
import type { Scripts } from './scripts.js'
import type { CapturedVariable } from '@retake/tape'
import type { StackFrame, Stop, Value } from './stop.js'
import type { UnsetVariables } from './unset-variables.js'

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

export class FrameReader {
  constructor(
    readonly scripts: Scripts,
    readonly unset: UnsetVariables,
    readonly call: CallTool,
  ) {}

  async read(
    callFrames: readonly CallFrame[],
  ): Promise<Pick<Stop, 'location' | 'frames' | 'asyncFrames'>> {
    const [frames, asyncFrames] = await Promise.all([
      Promise.all(
        callFrames.slice(0, FRAMES_MAX).map(async (frame): Promise<StackFrame> => {
          const isUser = this.scripts.isUsers(frame.location)
          const variables = isUser ? await this.#variables(frame) : []
          const location = this.scripts.locate(frame.location)
          return { name: frame.functionName, location, isUser, variables }
        }),
      ),
      this.#asyncFrames(),
    ])
    return { location: frames.find(({ isUser }) => isUser)?.location, frames, asyncFrames }
  }

  async #variables(frame: CallFrame): Promise<CapturedVariable[]> {
    const unset = await this.unset.of(frame)
    const scopes = await Promise.all(
      frame.scopeChain
        .filter(({ type }) => type !== 'global')
        .map(async ({ type, object }, index) => {
          const args = [
            { objectId: object.objectId ?? '' },
            { value: GLANCE },
            { value: VARIABLES_MAX },
          ]
          const found = await this.call<[string, Described][]>('describeScope', ...args)
          return found.map(([name, value]): CapturedVariable => {
            const isUnset = unset[index]?.has(name) === true
            return { name, scope: type, ...valueOf(isUnset ? UNAVAILABLE : value) }
          })
        }),
    )
    const nearest = new Map<string, CapturedVariable>()
    for (const variable of scopes.flat())
      if (!nearest.has(variable.name)) nearest.set(variable.name, variable)
    return [...nearest.values()].slice(0, VARIABLES_MAX)
  }

  async #asyncFrames(): Promise<Stop['asyncFrames']> {
    const raw = await this.call<RawAsyncFrame[]>('asyncFrames')
    return raw.map(({ name, url, line, column }) => {
      const { isUser, ...location } = this.scripts.locateUrl(url, line, column)
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
