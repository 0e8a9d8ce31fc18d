import { attempt, plainJson, toWire, withoutDepth } from '@retake/tape/format'
import { redactText } from '@retake/tape/secrets'
import type { Tone } from '@retake/tape/present'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Interrupted } from './exit-codes.js'

/** Hides what the recorder of a run hid; see `hidden-values.ts` of the engine. */
let withoutHidden = (text: string): string => text

/** Set when a run is opened, so that commands without one need not load the engine. */
export function hideInOutput(mask: (text: string) => string): void {
  withoutHidden = mask
}

/** A recorded value as plain JSON: a BigInt becomes text, a Map a list of pairs. */
export const plainValue = (value: unknown): unknown => plainJson(toWire(value))

/** `plainValue` as JSON text. */
export const plainText = (value: unknown): string => JSON.stringify(plainValue(value)) ?? ''

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SHOWN_AFTER_MS = 1000
const REDRAWN_EVERY_MS = 80

/** File that a worker reads while a job runs. Hidden from programs that this command starts. */
const PROGRESS_FILE = process.env['RETAKE_PROGRESS_FILE']
delete process.env['RETAKE_PROGRESS_FILE']

/** Shows progress on a terminal, after a second. Silent everywhere else. */
export class Progress {
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout | undefined
  #text: string
  #frame = 0
  #shown = false
  #drawnMs = 0

  constructor(text = 'starting') {
    this.#text = text
    if (!process.stderr.isTTY) return
    this.#timer = setInterval(() => this.#draw(), REDRAWN_EVERY_MS)
    this.#timer.unref()
  }

  /** Also draws, because synchronous work blocks timers. */
  say(text: string): void {
    this.#text = text
    if (PROGRESS_FILE !== undefined) writeFileSync(PROGRESS_FILE, text)
    if (this.#timer !== undefined) this.#draw()
  }

  stop(): void {
    clearInterval(this.#timer)
    if (this.#shown) process.stderr.write('\r\u001B[K')
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  #draw(): void {
    const elapsedMs = performance.now() - this.#startedAt
    if (elapsedMs < SHOWN_AFTER_MS || elapsedMs - this.#drawnMs < REDRAWN_EVERY_MS / 2) return
    this.#drawnMs = elapsedMs
    this.#shown = true
    this.#frame = (this.#frame + 1) % FRAMES.length
    const time = ` (${Math.round(elapsedMs / 1000)} s)`
    const room = (process.stderr.columns || 80) - 3 - time.length
    const line = `${FRAMES[this.#frame]} ${cutTo(this.#text, Math.max(0, room))}${time}`
    process.stderr.write(`\r\u001B[K${line}`)
  }
}

/** Minimum width of the last column, unless it needs less. */
const LAST_MIN = 12

/**
 * Rows in columns two spaces apart. The last column is cut to fit the width; if it has no room,
 * optional columns are dropped, in the given order. A row is always one line.
 */
export function tableLines(
  rows: readonly (readonly string[])[],
  width: number,
  spare: readonly number[] = [],
  lastMin = LAST_MIN,
): string[] {
  const flat = rows.map((row) => row.map((cell) => cell.replaceAll('\n', String.raw`\n`)))
  const last = Math.max(0, ...flat.map((row) => row.length)) - 1
  const widths = Array.from({ length: last + 1 }, (_, column) =>
    Math.max(...flat.map((row) => visibleLength(row[column] ?? ''))),
  )
  const hidden = new Set<number>()
  for (const column of spare) {
    const shown = widths.filter((_, index) => index < last && !hidden.has(index))
    const room = width - shown.reduce((sum, each) => sum + each + 2, 0)
    if (room >= Math.min(widths[last] ?? 0, lastMin)) break
    hidden.add(column)
  }
  return flat.map((row) => {
    const lead = row
      .slice(0, row.length - 1)
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - visibleLength(cell) + 2))
      .filter((_, column) => !hidden.has(column))
      .join('')
    return (lead + cutTo(row.at(-1) ?? '', width - visibleLength(lead))).trimEnd()
  })
}

const COLOUR = /\p{Cc}\[\d+m/gu
const visibleLength = (text: string): number => text.replace(COLOUR, '').length

/** Cuts text to a length. Leaves coloured text unchanged. */
export function cutTo(text: string, length: number): string {
  return visibleLength(text) > length && length > 1 && !text.includes('\u001B')
    ? `${text.slice(0, length - 1)}…`
    : text
}

/**
 * Makes recorded text safe for a terminal. Shows control characters other than line breaks and tabs
 * as `\x1b`, and direction overrides as `\u{202e}`. Hides keys, which source lines and tapes of
 * older versions may contain.
 */
export function printable(text: string): string {
  return withoutHidden(redactText(text)).replace(
    /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu,
    (char) => {
      const code = char.codePointAt(0) ?? 0
      const hex = code.toString(16)
      return code > 0xff ? `\\u{${hex}}` : `\\x${hex.padStart(2, '0')}`
    },
  )
}

/** The same on one line, so that a name with a line break does not look like two. */
export const printableLine = (text: string): string =>
  printable(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`)

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Style = keyof typeof CODES
/** The colour of each tone of the shared words. */
export const TONE_STYLES: Readonly<Record<Tone, Style>> = {
  good: 'green',
  danger: 'red',
  warning: 'yellow',
  accent: 'cyan',
  neutral: 'dim',
}
export type Paint = (style: Style, text: string) => string

/** Paints text if the stream is a terminal with colours. */
export function painter(stream: NodeJS.WriteStream): Paint {
  const colours = stream.isTTY && stream.hasColors() && (process.env['NO_COLOR'] ?? '') === ''
  return (style, text) => (colours ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text)
}

/** Width for text; 80 if unknown. */
export const widthOf = (stream: NodeJS.WriteStream): number => stream.columns || 80

/** Width at which table lines are cut; unlimited for pipes and files. */
export const cutWidthOf = (stream: NodeJS.WriteStream): number =>
  stream.isTTY ? widthOf(stream) : Infinity

export interface Look {
  readonly paint: Paint
  readonly width: number
}

export const PLAIN_LOOK: Look = { paint: (_, text) => text, width: 100 }

/** Lines, some of which may be missing. */
export type LineParts = readonly (string | readonly string[] | false | undefined)[]

export const linesOf = (...parts: LineParts): string[] =>
  parts.flatMap((part) => (part === false || part === undefined ? [] : part))

/** Lines of at most `width` characters, broken at spaces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = ''
  for (const word of text.split(/\s+/)) {
    if (rest !== '' && rest.length + 1 + word.length > width) {
      lines.push(rest)
      rest = word
    } else rest = rest === '' ? word : `${rest} ${word}`
  }
  if (rest !== '') lines.push(rest)
  return lines
}

/** Wrapped text after a lead; further lines are indented by its length. */
export function leadLines(lead: string, text: string, width: number): string[] {
  const indent = ' '.repeat(visibleLength(lead))
  return wrap(text, width - indent.length).map((line, at) => (at === 0 ? lead : indent) + line)
}

/** Wraps facts separated by ` · ` between facts, so that numbers stay with their units. */
export function wrapFacts(text: string, width: number): string[] {
  const lines: string[] = []
  for (const fact of text.split(' · ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 3 + fact.length + 2 <= width)
      lines[lines.length - 1] = `${last} · ${fact}`
    else {
      if (last !== undefined) lines[lines.length - 1] = `${last} ·`
      lines.push(...wrap(fact, width - 2))
    }
  }
  return lines
}

/** A path, or `path:line:column`, relative to the working directory if that is shorter. */
export function fromHere(site: string): string {
  const relative = path.relative(process.cwd(), site)
  return relative.startsWith('..') || relative.length > site.length ? site : relative
}

/** Prints the result of `--json`. Masks keys of known shape, as everywhere. */
export function printJson(value: unknown, indent?: number): void {
  const masked = (_name: string, each: unknown): unknown =>
    typeof each === 'string' ? withoutHidden(redactText(each)) : each
  // For each level, a replacer needs more of the stack than all else that reads a tape.
  const text = attempt(() => JSON.stringify(value, masked, indent))
  console.log(
    text ?? JSON.stringify(withoutDepth(JSON.parse(JSON.stringify(value))), masked, indent),
  )
}

export const lookOf = (stream: NodeJS.WriteStream): Look => ({
  paint: painter(stream),
  width: widthOf(stream),
})

/** Lets `work` prompt the user. Ctrl-C or the end of input interrupts it. */
export async function promptOnTerminal<T>(
  work: (prompt: (message: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const stopped = new AbortController()
  lines.on('SIGINT', () => stopped.abort())
  lines.on('close', () => stopped.abort())
  try {
    return await work((message) => lines.question(message, { signal: stopped.signal }))
  } catch (error) {
    if (stopped.signal.aborted) throw new Interrupted('SIGINT')
    throw error
  } finally {
    lines.removeAllListeners('close')
    lines.close()
  }
}
