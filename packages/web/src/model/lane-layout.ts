import type { Message, RunView, Step } from '@retake/tape'
import { cutText } from './clip.js'
import type { LaneHead } from './run-source.js'

/** Maximum number of prompts to read, because each is a body on the tape. */
const NAMED_MAX = 40

/** Shortens `You are the policy clerk of a shop. Use …` to `policy clerk`. */
export function promptName(messages: readonly Message[]): string | undefined {
  const prompt = messages.find(({ role }) => role === 'system' || role === 'developer')
  const part = prompt?.parts.find(({ type }) => type === 'text')
  const text = part?.type === 'text' && typeof part.text === 'string' ? part.text.trim() : ''
  const [, role] = /^you(?: are|'re) (?:an? |the )?([^.,;:!\n]+)/i.exec(text) ?? []
  const [noun = ''] = role?.split(/\s(?:of|for|who|that|which|in|at|with|from|and)\s/i, 1) ?? []
  const phrase = noun || text.split(/[.,;:!\n]/, 1)[0] || ''
  const words = phrase.split(/\s+/).slice(0, 3).join(' ')
  return words === '' ? undefined : cutText(words, NAME_MAX)
}

const NAME_MAX = 40

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * The lanes as drawn. Sub-agents within a lane of the read model get their own lanes, nested by agent:
 * a supervisor that calls two agents in sequence has two lanes below its own. Ids follow the order of
 * first steps, so that they are stable while a run grows.
 */
export class LaneLayout {
  readonly #drawn: Mutable<LaneHead>[] = []
  readonly #laneOf = new Map<number, number>()
  /** By lane of the read model: the drawn lane for each path of agents. */
  readonly #bases = new Map<number, Base>()
  readonly #parents: ReadonlyMap<number, number | undefined>
  readonly #firstModelCalls = new Map<number, Step>()

  constructor({ lanes, recordedSteps }: RunView) {
    this.#parents = new Map(lanes.map(({ id, parent }) => [id, parent]))
    this.#baseOf(0, [])
    for (const step of recordedSteps) this.#add(step)
  }

  get lanes(): readonly LaneHead[] {
    // Names lanes without a name after the system prompt of their first model call.
    for (const lane of this.#drawn.slice(1, NAMED_MAX)) {
      if (lane.name !== undefined) continue
      const step = this.#firstModelCalls.get(lane.id)
      const name = step && promptName(step.messages())
      if (name !== undefined) lane.name = name
    }
    this.#firstModelCalls.clear()

    return this.#drawn
  }

  /** The drawn lane of a step. An inferred step is in the lane of the step that caused it. */
  of(step: Step): number {
    const base = this.#bases.get(step.lane)
    if (step.inferred) return base?.byPath.get(keyOf(agentsOf(step))) ?? base?.id ?? 0
    return this.#laneOf.get(step.seq) ?? base?.id ?? 0
  }

  #add(step: Step): void {
    const agents = agentsOf(step)
    const base = this.#baseOf(step.lane, agents)
    const id = this.#within(base, agents)
    this.#laneOf.set(step.seq, id)
    const lane = this.#drawn[id]
    if (lane === undefined) return
    if (step.kind === 'model' && !this.#firstModelCalls.has(id)) this.#firstModelCalls.set(id, step)
    const end = step.at + Math.max(0, step.latencyMs ?? 0)
    lane.from = Math.min(lane.from ?? step.at, step.at)
    lane.to = Math.max(lane.to ?? end, end)
    lane.steps = (lane.steps ?? 0) + 1
    if (lane.name === undefined && lane.steps === 1 && id !== 0) {
      const scope = step.within.findLast(({ kind }) => kind !== 'tool' && kind !== 'server')
      if (scope) lane.name = scope.name
    }
  }

  /** The path of a lane is that of its first step. */
  #baseOf(lane: number, agents: readonly string[]): Base {
    const known = this.#bases.get(lane)
    if (known?.path !== undefined) return known
    const parent = this.#parents.get(lane)
    const above = parent === undefined ? undefined : this.#bases.get(parent)
    const id = known?.id ?? this.#open(above && this.#nearest(above, agents))
    const isFirst = lane === 0 && known === undefined
    const base: Base = {
      id,
      path: isFirst ? undefined : agents,
      byPath: new Map([[keyOf(isFirst ? [] : agents), id]]),
    }
    const [drawn, name] = [this.#drawn[id], agents.at(-1)]
    if (!isFirst && drawn !== undefined && name !== undefined) drawn.name = name
    this.#bases.set(lane, base)
    return base
  }

  #within(base: Base, agents: readonly string[]): number {
    // The path of the lane begins with these agents.
    if (agents.every((name, index) => name === base.path?.[index])) return base.id
    const known = base.byPath.get(keyOf(agents))
    if (known !== undefined) return known
    const above = this.#within(base, agents.slice(0, -1))
    const id = this.#open(above, agents.at(-1))
    base.byPath.set(keyOf(agents), id)
    return id
  }

  #nearest(base: Base, agents: readonly string[]): number {
    for (let length = agents.length; length > 0; length--) {
      const found = base.byPath.get(keyOf(agents.slice(0, length)))
      if (found !== undefined) return found
    }
    return base.id
  }

  #open(parent: number | undefined, name?: string): number {
    const id = this.#drawn.length
    const depth = parent === undefined ? 0 : (this.#drawn[parent]?.depth ?? 0) + 1
    this.#drawn.push({
      id,
      ...(parent !== undefined && { parent }),
      depth,
      ...(name !== undefined && { name }),
      steps: 0,
    })
    return id
  }
}

interface Base {
  readonly id: number
  /** Agents around the first step; undefined until there is a step. */
  readonly path: readonly string[] | undefined
  readonly byPath: Map<string, number>
}

const agentsOf = ({ within }: Step): string[] =>
  within.filter(({ kind }) => kind === 'agent').map(({ name }) => name)

const keyOf = (path: readonly string[]): string => JSON.stringify(path)
