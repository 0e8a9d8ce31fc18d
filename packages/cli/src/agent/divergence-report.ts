import type { Divergence, Mismatch } from '@retake/engine'
import {
  fromHere,
  type Look,
  type Paint,
  printable,
  type Style,
  wrap,
} from '../terminal/terminal.js'
import { type Excerpt, excerpts } from '../compare/text-diff.js'

export interface DivergencePlace {
  /** Number of events on the tape. */
  readonly events: number
  /** The step it happened in, in words. */
  readonly step?: string
  /** What to do about it, a line each. */
  readonly fix: readonly string[]
}

/** Everything a person needs about one divergence: where, what, the difference, the code, what to do. */
export function divergenceReport(
  divergence: Divergence,
  place: DivergencePlace,
  { paint, width }: Look,
): string[] {
  const { explanation, mismatches, seq, site, summary } = divergence
  const fix = divergence.fix === undefined ? place.fix : wrap(divergence.fix, width - 7)
  const step = place.step === undefined ? '' : ` · ${place.step}`
  return [
    `${paint('red', 'diverged')} at event ${seq} of ${place.events}${step}`,
    ...wrap(printable(upperFirst(summary)), width - 2).map((line) => `  ${line}`),
    // Where the same call differs, the fields below say it better.
    ...wrap(divergence.kind === 'different' ? '' : explanation, width - 2).map(
      (line) => `  ${line}`,
    ),
    ...mismatches
      .filter(({ field }) => !field.endsWith('(sha256)'))
      .flatMap((mismatch) => ['', ...mismatchLines(mismatch, paint, width)]),
    '',
    ...(site === undefined ? [] : [`  at   ${paint('cyan', fromHere(site))}`]),
    ...fix.map((line, index) => `  ${index === 0 ? 'fix ' : '    '} ${line}`),
  ]
}

function mismatchLines(
  { field, recorded, current }: Mismatch,
  paint: Paint,
  width: number,
): string[] {
  const [before, now] = excerpts(show(recorded), show(current), width - 6)
  return [
    `  ${paint('bold', printable(field))}`,
    line('-', 'red', before, paint),
    line('+', 'green', now, paint),
  ]
}

function line(
  sign: string,
  style: Style,
  { before, differs, after }: Excerpt,
  paint: Paint,
): string {
  return `  ${paint(style, `${sign} ${before}`)}${differs && paint('bold', paint(style, differs))}${paint(style, after)}`
}

function show(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
