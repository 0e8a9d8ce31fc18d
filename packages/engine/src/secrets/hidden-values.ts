import type { Tape } from '@retake/tape/format'
import { fingerprintOf } from './machine-key.js'

/**
 * Values that the recorder of a run hid, so that they are also hidden where a run is shown: in
 * source lines, states and output. The tape has only fingerprints with the key of this machine,
 * which nobody can check a guess against without it. Not promised: on another machine, and for a
 * value that is only a part of a word or of a text in quotes.
 */
const fingerprints = new Set<string>()
const read = new WeakSet<Tape>()
const verdicts = new Map<string, boolean>()
const VERDICTS_MAX = 20_000

/** Call before something of the run is shown. */
export function rememberHidden(tape: Tape): void {
  if (read.has(tape)) return
  read.add(tape)
  const { size } = fingerprints
  for (const { hides = [] } of tape.events()) for (const each of hides) fingerprints.add(each)
  if (fingerprints.size > size) verdicts.clear()
}

/** The text without hidden values of the remembered runs. Keeps its length. */
export function withoutHidden(text: string): string {
  if (fingerprints.size === 0) return text
  let masked = text
  for (const { 0: quoted, 2: content = '', index } of text.matchAll(LITERAL))
    if (wasHidden(content)) masked = replacedAt(masked, index + quoted.indexOf(content), content)
  for (const { 0: word, index } of masked.matchAll(WORD))
    for (const { 0: part, index: at } of [
      { 0: word, index: 0 },
      ...word.matchAll(PART),
      ...word.matchAll(AFTER_NAME),
    ])
      if (wasHidden(part)) masked = replacedAt(masked, index + at, part)
  return masked
}

export const HIDDEN_MIN = 6
export const HIDDEN_MAX = 4096
const LITERAL = /(["'`])((?:\\.|(?!\1)[^\\\n]){6,4096})\1/g
const WORD = /[^\s"'`,;(){}[\]<>\\]{6,4096}/g
const PART = /[^=:&?/@|]{6,}/g
const AFTER_NAME = /(?<=^[\w.-]{1,64}[=:]).+$/g

function wasHidden(value: string): boolean {
  if (value.includes('retake-h')) return false
  let verdict = verdicts.get(value)
  if (verdict !== undefined) return verdict
  const fingerprint = fingerprintOf(value, false)
  verdict = fingerprint !== undefined && fingerprints.has(fingerprint)
  if (verdicts.size < VERDICTS_MAX) verdicts.set(value, verdict)
  return verdict
}

const replacedAt = (text: string, at: number, value: string): string =>
  text.slice(0, at) +
  'retake-hidden'.slice(0, value.length).padEnd(value.length, 'x') +
  text.slice(at + value.length)
