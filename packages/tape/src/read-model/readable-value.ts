import { attempt } from '../format/values/attempt.js'
import type { BodyForm } from '../format/events.js'
import { decodeBody } from '../format/event-body.js'
import { fromWire } from '../format/values/from-wire.js'
import { clipText } from '../format/values/clip-text.js'

/** Number of characters searched for Markdown; titles show fewer. */
const MARKED_MAX = 1000

/** The text of Markdown without marks for emphasis, headings, lists, code and links. */
export const withoutMarkdown = (text: string): string =>
  text
    .slice(0, MARKED_MAX)
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+/gm, '')
    .replaceAll(/^[ \t]*`{3}.*$/gm, '')
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, '$1')
    .replaceAll(/(?<!\w)(\*{1,3}|~~)(?=\S)([^*~\n]+?)(?<=\S)\1/g, '$2')
    .replaceAll(/(?<!\w)(_{1,3})(?=\S)([^_\n]+?)(?<=\S)\1(?!\w)/g, '$2')
    .replaceAll(/`([^`\n]+)`/g, '$1')

export const shortText = (text: string, length = 80): string =>
  clipText(text.replace(/\s+/g, ' ').trim(), length)

/** A value as short JSON. Never throws: values that JSON cannot express are shortened, too. */
export const shortJson = (value: unknown, length = 80): string => {
  if (typeof value === 'string') return shortText(value, length)
  const json = (): string | undefined =>
    JSON.stringify(value, (_, each: unknown) => {
      // Long strings are cut before they are serialised.
      if (typeof each === 'bigint') return String(each)
      return typeof each === 'string' && each.length > length ? each.slice(0, length + 1) : each
    })
  return shortText(attempt(json, '…') ?? '', length)
}

/**
 * The value of a body, to show. A value that this version cannot rebuild, for example from a newer
 * Retake, is shown as text.
 */
export const readBody = (as: BodyForm, body: Uint8Array): unknown => {
  const read = attempt(() => ({ value: decodeBody(as, body) }))
  return read === undefined ? new TextDecoder().decode(body) : read.value
}

export const exitOf = (code: unknown, signal: unknown): number | string | undefined => {
  if (typeof code === 'number') return code
  return typeof signal === 'string' ? signal : undefined
}

/** Like `exitOf`, from the wire value of `[code, signal]`. */
export const readExit = (wire: unknown): number | string | undefined => {
  const exit = attempt(() => fromWire(wire))
  return Array.isArray(exit) ? exitOf(exit[0], exit[1]) : undefined
}
