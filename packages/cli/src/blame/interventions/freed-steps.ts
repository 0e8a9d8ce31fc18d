import { usageError } from '../../command-line/verb.js'
import { closestName } from '@retake/engine/errors'
import type { Step } from '@retake/tape'

const KINDS: readonly string[] = [
  'model',
  'tool',
  'http',
  'mcp',
  'process',
] satisfies Step['kind'][]

/** Steps that a `--free` means, and how closely it names them. */
export interface Freed {
  readonly steps: readonly Step[]
  /** 3 a label, 2 a tool, 1 a kind, 0 all: the closest that names a step decides. */
  readonly closeness: number
}

/** Finds what stands before the `=`. Throws when it means no step. */
export function freedSteps(where: string, steps: readonly Step[]): Freed {
  const labelled = steps.filter(({ label }) => label === where)
  if (labelled.length > 0) return { steps: labelled, closeness: 3 }
  if (where === 'all') return { steps, closeness: 0 }
  if (KINDS.includes(where)) {
    const alike = steps.filter(({ kind }) => kind === where)
    if (alike.length > 0) return { steps: alike, closeness: 1 }
    throw usageError(
      `--free ${where} means no step.`,
      `The run has no step of that kind; there are ${namesOf(steps, ({ kind }) => kind)}.`,
    )
  }
  const tools = steps.filter(({ toolName }) => toolName === where)
  if (tools.length > 0) return { steps: tools, closeness: 2 }
  throw usageError(`--free ${where} means no step.`, whatThereIs(where, steps))
}

function whatThereIs(where: string, steps: readonly Step[]): string {
  if (/^\d/.test(where))
    return `Steps that can be made free are ${namesOf(steps, ({ label }) => label)}.`
  const tools = steps.flatMap(({ toolName }) => toolName ?? [])
  const close = closestName(where, [...KINDS, 'all', ...tools])
  if (close !== undefined) return `Did you mean ${close}?`
  const named = tools.length === 0 ? '' : `; a tool: ${[...new Set(tools)].join(', ')}`
  return `It is all, a kind of step (${KINDS.join(', ')}), or a step by its number${named}.`
}

const SHOWN_MAX = 20

function namesOf(steps: readonly Step[], name: (step: Step) => string): string {
  const names = [...new Set(steps.map(name))]
  return `${names.slice(0, SHOWN_MAX).join(', ')}${names.length > SHOWN_MAX ? ', …' : ''}`
}
