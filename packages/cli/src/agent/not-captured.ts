import type { NotCaptured } from '@retake/tape'
import { fromHere, printable, printableLine, wrap } from '../terminal/terminal.js'

/** Items beyond this limit are only counted; `retake show` lists all of them. */
const SHOWN_MAX = 5

/** One thing that was not captured: name, location, count, and the consequence for a replay. */
export function notCapturedFact({ what, at, isOutside, count, consequence }: NotCaptured): string {
  const unknown = isOutside ? '' : ' in a library'
  const where = at === undefined ? unknown : ` at ${lineOf(at)}`
  const times = count > 1 ? ` (${count} times)` : ''
  return printableLine(`${what}${where}${times} — ${consequence}`)
}

/** The same for a list, on a few lines; `show` is the command that lists all of them. */
export function notCapturedLines(list: readonly NotCaptured[], show: string): string[] {
  const more = list.length - SHOWN_MAX
  return [
    ...list.slice(0, SHOWN_MAX).map((each) => `not captured: ${notCapturedFact(each)}`),
    ...(more > 0 ? [`and ${more} more: ${show}`] : []),
  ]
}

/** The same in full, indented, with the reason below. */
export function notCapturedDetail(each: NotCaptured, width: number): string[] {
  return [
    `  ${notCapturedFact(each)}`,
    ...wrap(printable(each.why ?? ''), width - 4).map((line) => `    ${line}`),
  ]
}

/** `file:line` of a call site. */
const lineOf = (site: string): string => fromHere(site).replace(/:\d+$/, '')
