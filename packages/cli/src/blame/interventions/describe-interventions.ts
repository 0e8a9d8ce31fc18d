import type { Step } from '@retake/tape'
import { fromHere } from '../../from-here.js'

const KINDS: Readonly<Record<Step['kind'], string>> = {
  model: 'models',
  tool: 'tools',
  http: 'requests',
  mcp: 'MCP requests',
  process: 'processes',
  mark: 'marks',
}
const HOW_MAX = 40
const LABELS_MAX = 8

/**
 * What happens to free steps, in a line: `free: models live · tools neutral · step 4 live`.
 * Kinds whose steps are all treated alike are told as one.
 */
export function describeInterventions(
  steps: readonly Step[],
  hows: ReadonlyMap<string, string>,
  simulator?: string,
): string {
  const otherwise = simulator === undefined ? 'live' : `by ${fromHere(simulator)}`
  const howOf = ({ label }: Step): string => short(hows.get(label) ?? otherwise)
  const parts = [...new Set(steps.map(({ kind }) => kind))].flatMap((kind) => {
    const alike = steps.filter((step) => step.kind === kind)
    const ways = [...new Set(alike.map(howOf))]
    if (ways.length === 1) return [`${KINDS[kind]} ${ways[0]}`]
    return ways.map((way) => `${named(alike.filter((step) => howOf(step) === way))} ${way}`)
  })
  return `free: ${parts.join(' · ')}`
}

function named(steps: readonly Step[]): string {
  const [first] = steps
  const shown = steps.slice(0, LABELS_MAX).map(({ label }) => label)
  const more = steps.length > LABELS_MAX ? ', …' : ''
  const tool =
    first?.toolName !== undefined && steps.every(({ toolName }) => toolName === first.toolName)
      ? ` (${first.toolName})`
      : ''
  return `${steps.length === 1 ? 'step' : 'steps'} ${shown.join(', ')}${more}${tool}`
}

const short = (how: string): string => (how.length > HOW_MAX ? `${how.slice(0, HOW_MAX)}…` : how)
