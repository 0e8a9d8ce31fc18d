import type { FieldDiff, StepDiff, StepRef } from '@retake/diagnose'
import { DifferenceLines } from './difference-lines.js'
import type { DiffLook } from './diff-lines.js'
import { duration } from './duration.js'
import { cost, plural } from './facts.js'
import { printable } from './printable.js'
import { cutTo } from './table.js'

/** How many differences of one step are shown unless all are asked for. */
const MOST_FIELDS = 8

/** All that differs in one step. What is only carried along is counted, not repeated. */
export function stepDiffLines(diff: StepDiff, look: DiffLook): string[] {
  const { fields, carried } = diff
  const news = fields.filter(({ area }) => area !== 'usage')
  const shown = look.full ? news : news.slice(0, MOST_FIELDS)
  const differences = new DifferenceLines(look)
  const hidden = [
    ...(news.length > shown.length ? [plural(news.length - shown.length, 'more difference')] : []),
    ...(carried.length > 0 ? [`${plural(carried.length, 'message')} as in earlier steps`] : []),
  ]
  return [
    headLine(diff, look),
    ...shown.flatMap((field) => differences.field(field)),
    ...(hidden.length > 0 ? [`  ${look.paint('dim', `… and ${hidden.join(', ')}`)}`] : []),
    ...usageLines(diff, look),
  ]
}

function headLine({ change, a, b }: StepDiff, { paint, width }: DiffLook): string {
  const step = a ?? b
  const label =
    a !== undefined && b !== undefined && a.label !== b.label
      ? `${a.label} → ${b.label}`
      : step?.label
  const lead = `${signOf(change)}step ${label}  `
  const note = {
    changed: '',
    moved: 'in another order: ',
    removed: 'only in a: ',
    added: 'only in b: ',
  }
  const title = cutTo(printable(`${note[change]}${titleOf(a, b)}`), width - lead.length)
  const style = change === 'removed' ? 'red' : 'green'
  return change === 'removed' || change === 'added'
    ? paint(style, lead + title)
    : `${paint('bold', lead)}${title}`
}

const signOf = (change: StepDiff['change']): string =>
  ({ changed: '', moved: '', removed: '- ', added: '+ ' })[change]

/** What both are, where their titles agree only in part: the model, without what it said. */
function titleOf(a: StepRef | undefined, b: StepRef | undefined): string {
  const title = (a ?? b)?.title ?? ''
  if (a === undefined || b === undefined || a.title === b.title) return title
  return a.kind === 'model' ? (title.split(' → ')[0] ?? title) : title
}

function usageLines({ a, b, fields, change }: StepDiff, { paint, width }: DiffLook): string[] {
  if (change === 'added' || change === 'removed') return []
  const facts = fields.filter(({ area }) => area === 'usage').map(usageFact)
  const took = [a, b].map((side) =>
    side?.latencyMs === undefined ? '?' : duration(side.latencyMs),
  )
  const isTimed = a?.latencyMs !== undefined || b?.latencyMs !== undefined
  if (isTimed && took[0] !== took[1]) facts.push(`took ${took.join(' → ')}`)
  return packed(facts, width - 2).map((line) => `  ${paint('dim', line)}`)
}

/** Facts on as few lines as they fit on, none of them broken. */
function packed(facts: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const fact of facts) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 3 + fact.length <= width)
      lines[lines.length - 1] = `${last} · ${fact}`
    else lines.push(fact)
  }
  return lines
}

/** `usage.input 36 → 40` in the words of a bill. */
function usageFact({ path, a, b }: FieldDiff): string {
  if (path === 'costUsd') return `cost ${cost(a as number) || '?'} → ${cost(b as number) || '?'}`
  const name = path.replace(/^usage\.?/, '') || 'usage'
  return `${NAMES[name] ?? name} ${shown(a)} → ${shown(b)}`
}

const NAMES: Readonly<Record<string, string>> = {
  input: 'tokens in',
  cachedInput: 'cached in',
  cacheWrite: 'cache write',
  output: 'tokens out',
}

const shown = (value: unknown): string => (value === undefined ? '?' : JSON.stringify(value))
