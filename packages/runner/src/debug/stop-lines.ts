import path from 'node:path'
import type { StackFrame, Stop } from '@retake/engine/inspect'
import { rememberHidden, withoutHidden } from '@retake/engine/runs'
import type { CapturedVariable, CodeLocation, Tape } from '@retake/tape'
import { fileHere, movedHere } from '../sources/source-code.js'
import { cutTo, fromHere, type Look, printable, tableLines } from '../terminal/terminal.js'
import { sourceFile } from '../sources/recorded-code.js'
import { recordedSource } from '../sources/source-store.js'
import { readFileSync } from 'node:fs'
import { redactText, attempt } from '@retake/tape'

const AROUND = 3

/** The source around a location, with its line marked; empty if the file cannot be read. */
export function sourceExcerpt(
  { file, line }: CodeLocation,
  { paint, width }: Look,
  lines = readLines(sourceFile(file)),
): string[] {
  const first = Math.max(1, line - AROUND)
  const shown = lines.slice(first - 1, line + AROUND).map(withoutHidden)
  const numberWidth = String(first + shown.length - 1).length
  return shown.map((source, index) => {
    const number = first + index
    const text = `${String(number).padStart(numberWidth)}  ${printable(source)}`.trimEnd()
    const cut = cutTo(text, width - 2)
    return number === line ? paint('bold', `> ${cut}`) : `  ${cut}`
  })
}

/** `textFile`: the file that has the text of this version of the code. */
export const sourceLine = (
  { file, line }: CodeLocation,
  textFile = sourceFile(file),
): string | undefined =>
  readLines(textFile)
    .slice(line - 1, line)
    .map(withoutHidden)[0]

/** The recorded line of a location such as `agent.ts:3:7`; undefined if today's file is the same. */
export function recordedLine(tape: Tape, site: string): string | undefined {
  const [, file = '', line] = /^(.+?):(\d+)(?::\d+)?$/.exec(site) ?? []
  const text = recordedLines(tape, file)?.[Number(line) - 1]
  return text === undefined ? undefined : withoutHidden(text)
}

/** The recorded lines of a source file; undefined if today's file is the same. */
export function recordedLines(tape: Tape, file: string): string[] | undefined {
  const content = recordedSource(tape, file)
  const here = fileHere(tape.details.cwd ?? '.', file, movedHere(tape))
  if (content === undefined || attempt(() => readFileSync(here))?.equals(content)) return undefined
  rememberHidden(tape)
  return maskedLines(content.toString())
}

const readLines = (file: string): string[] =>
  attempt(() => maskedLines(readFileSync(file, 'utf8')), [])

const maskedLines = (source: string): string[] => redactText(source).split(/\r?\n/)

export function stopLines(stop: Stop, look: Look): string[] {
  const { paint } = look
  const { location } = stop
  const frame = stop.frames.find(({ isUser }) => isUser)
  // Without a source map, the compiled code is shown.
  const folders = location ? fromHere(location.file).split(path.sep).slice(0, -1) : []
  const isCompiled =
    location?.mapped === false &&
    /\.[cm]?js$/.test(location.file) &&
    folders.some((folder) => COMPILED.test(folder))
  return [
    ...(location
      ? [
          `${paint('cyan', locationText(location))}${frame?.name ? ` in ${frame.name}` : ''}`,
          ...(isCompiled
            ? ['(compiled JavaScript without a source map: this is not the line that was written)']
            : []),
          '',
          ...sourceExcerpt(location, look),
        ]
      : ['none of your code is on the stack at this moment']),
    '',
    paint('bold', 'stack'),
    ...stackLines(stop, look),
    ...variableSections(frame?.variables ?? [], look),
  ]
}

/** Library frames in between are counted, not listed. */
function stackLines({ frames, asyncFrames }: Stop, { width }: Look): string[] {
  const all = [
    ...frames.map((frame) => ({ ...frame, mark: '' })),
    ...asyncFrames.map((frame) => ({ ...frame, mark: 'async ' })),
  ].filter(({ name, location }) => location.file !== '' || name !== '')
  const rows = all
    .filter(({ isUser }) => isUser)
    .map(({ name, mark, location }) => [
      `  ${mark}${name === '' ? '(top level)' : name}`,
      locationText(location),
    ])
  return rows.length === 0 ? ['  (only libraries)'] : tableLines(rows, width)
}

const TITLES: Readonly<Record<string, string>> = { closure: 'from around', module: 'module' }

function variableSections(variables: readonly CapturedVariable[], look: Look): string[] {
  const groups = new Map<string, CapturedVariable[]>()
  for (const variable of variables) {
    // Imports and module functions are many and say little.
    if (variable.type === 'function' && variable.scope !== 'local') continue
    const title = TITLES[variable.scope] ?? 'locals'
    groups.set(title, [...(groups.get(title) ?? []), variable])
  }
  return [...groups].flatMap(([title, group]) => [
    '',
    look.paint('bold', title),
    ...variableLines(group, look),
  ])
}

export const variableLines = (variables: readonly CapturedVariable[], { width }: Look): string[] =>
  tableLines(
    variables.map(({ name, text }) => [
      `  ${name}`,
      printable(text).replaceAll('\n', String.raw`\n`),
    ]),
    width,
  )

export const locationText = ({ file, line, column }: CodeLocation): string =>
  `${fromHere(file)}:${line}:${column}`

const COMPILED = /^(dist|build|out|lib)$/

export function stopJson({ frames, asyncFrames, location, position, isDirect }: Stop): unknown {
  const frameJson = ({ name, location: at, isUser, variables }: StackFrame): unknown => ({
    name,
    location: at,
    isUser,
    variables,
  })
  return { location, position, isDirect, frames: frames.map(frameJson), asyncFrames }
}
