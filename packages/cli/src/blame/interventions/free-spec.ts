import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSet } from '@retake/tape'
import { wrongUsage } from '../../errors/command-line.js'

/** How a free step is answered, as it was asked for. */
export type FreeHow =
  | { readonly kind: 'live' | 'neutral' | 'nothing' | 'error' }
  /** A whole answer, as JSON text or the content of a file. */
  | { readonly kind: 'given'; readonly bytes: Uint8Array }
  /** One place of the recorded answer is changed. */
  | { readonly kind: 'set'; readonly path: string; readonly value: unknown }
  /** As another run answered the same step. */
  | { readonly kind: 'run'; readonly run: string }
  /** By label, what a file says. */
  | { readonly kind: 'script'; readonly file: string; readonly answers: ScriptedAnswers }

export type ScriptedAnswers = Readonly<Record<string, unknown>>

/** `--free <where>=<how>`, taken apart. */
export interface FreeSpec {
  /** A kind of step, a tool, a label, or `all`. */
  readonly where: string
  readonly how: FreeHow
  readonly text: string
}

export interface SpecOptions {
  /** Where files are looked for; the working directory unless set. */
  readonly folder?: string
}

const WORDS = ['live', 'neutral', 'nothing', 'error'] as const

/** Reads one `--free`; files that it names are read at once. */
export function parseFree(text: string, { folder = process.cwd() }: SpecOptions = {}): FreeSpec {
  const [, where = '', how = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  if (where.trim() === '' || how.trim() === '') throw wrong(text, EXAMPLE)
  return { where: where.trim(), how: parseHow(how.trim(), text, folder), text }
}

const EXAMPLE = 'For example: --free tool=neutral, --free search=live, --free 4=@other-answer.json.'

function parseHow(how: string, text: string, folder: string): FreeHow {
  const word = WORDS.find((each) => each === how)
  if (word !== undefined) return { kind: word }
  if (how.startsWith('@')) return { kind: 'given', bytes: read(how.slice(1), folder, text) }
  const [, form = '', rest = ''] = /^(json|set|run|script):(.*)$/s.exec(how) ?? []
  switch (form) {
    case 'json':
      parseJson(rest, text)
      return { kind: 'given', bytes: Buffer.from(rest) }
    case 'set':
      return { kind: 'set', ...parseSet(rest) }
    case 'run':
      return { kind: 'run', run: rest }
    case 'script':
      return { kind: 'script', file: rest, answers: readScript(rest, folder, text) }
    default:
      throw wrong(
        text,
        `"${how}" is none of live, neutral, nothing, error, json:…, @file, set:path=json, run:…, script:file.`,
      )
  }
}

function readScript(file: string, folder: string, text: string): ScriptedAnswers {
  const answers = parseJson(Buffer.from(read(file, folder, text)).toString(), text)
  if (typeof answers === 'object' && answers !== null && !Array.isArray(answers))
    return answers as ScriptedAnswers
  throw wrong(text, `${file} is no object of answers by step, as { "4": { "payload": … } }.`)
}

function read(file: string, folder: string, text: string): Uint8Array {
  try {
    return readFileSync(path.resolve(folder, file))
  } catch (error) {
    throw wrong(text, `The file ${file} cannot be read: ${(error as Error).message}`)
  }
}

function parseJson(json: string, text: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch (error) {
    throw wrong(text, `It does not hold JSON: ${(error as Error).message}`)
  }
}

const wrong = (text: string, why: string): Error =>
  wrongUsage('blame', `--free ${text} cannot be understood.`, why)
