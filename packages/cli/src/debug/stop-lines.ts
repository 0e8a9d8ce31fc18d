import path from 'node:path'
import type { Frame, SourceLocation, Stop, Variable } from '@retake/engine/inspect'
import { fromHere, type Look, printable, table } from '../terminal/terminal.js'
import { sourceExcerpt } from './source-excerpt.js'

/** Where the agent stands, for a person: the line, who called it, and what the variables hold. */
export function stopLines(stop: Stop, look: Look): string[] {
  const { paint } = look
  const { location } = stop
  const frame = stop.frames.find(({ isUser }) => isUser)
  return [
    ...(location
      ? [
          `${paint('cyan', place(location))}${frame?.name ? ` in ${frame.name}` : ''}`,
          ...compiledNote(location),
          '',
          ...sourceExcerpt(location, look),
        ]
      : ['no code of yours is on the stack at this moment']),
    '',
    paint('bold', 'stack'),
    ...stackLines(stop, look),
    ...variableSections(frame?.variables ?? [], look),
  ]
}

/** Library code in between is counted, not listed. */
function stackLines({ frames, asyncFrames }: Stop, { width }: Look): string[] {
  const all = [
    ...frames.map((frame) => ({ ...frame, mark: '' })),
    ...asyncFrames.map((frame) => ({ ...frame, mark: 'async ' })),
  ].filter(({ name, location }) => location.file !== '' || name !== '')
  const rows = all
    .filter(({ isUser }) => isUser)
    .map(({ name, mark, location }) => [
      `  ${mark}${name === '' ? '(top level)' : name}`,
      place(location),
    ])
  return rows.length === 0 ? ['  (only libraries)'] : table(rows, width)
}

const TITLES: Readonly<Record<string, string>> = { closure: 'from around', module: 'module' }

function variableSections(variables: readonly Variable[], look: Look): string[] {
  const groups = new Map<string, Variable[]>()
  for (const variable of variables) {
    // Imports and functions of the module say little and are many.
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

export const variableLines = (variables: readonly Variable[], { width }: Look): string[] =>
  table(
    variables.map(({ name, text }) => [
      `  ${name}`,
      printable(text).replaceAll('\n', String.raw`\n`),
    ]),
    width,
  )

export const place = ({ file, line, column }: SourceLocation): string =>
  `${fromHere(file)}:${line}:${column}`

const COMPILED = /^(dist|build|out|lib)$/

/** What was compiled without a map can only be shown as it runs. */
function compiledNote({ file, mapped }: SourceLocation): string[] {
  const folders = fromHere(file).split(path.sep).slice(0, -1)
  const isCompiled = !mapped && /\.[cm]?js$/.test(file) && folders.some((f) => COMPILED.test(f))
  return isCompiled
    ? ['(compiled JavaScript without a source map: this is not the line that was written)']
    : []
}

/** The same as JSON, without the frames of libraries' variables. */
export function stopJson({ frames, asyncFrames, location, position, isDirect }: Stop): unknown {
  const frameJson = ({ name, location: at, isUser, variables }: Frame): unknown => ({
    name,
    location: at,
    isUser,
    variables,
  })
  return { location, position, isDirect, frames: frames.map(frameJson), asyncFrames }
}
