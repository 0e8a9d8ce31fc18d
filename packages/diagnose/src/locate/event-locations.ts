import { readsOf } from '@retake/tape'
import type {
  BodyForm,
  CallEvent,
  EndEvent,
  RecordedError,
  ResultEvent,
  RunEvent,
  TapeLike,
} from '@retake/tape'
import { utf8, wireAsJson } from '../json-value.js'
import type { Hit } from './matcher.js'
import type { Matcher } from './matcher.js'
import type { SourceKind } from './occurrence.js'
import type { ValueLocation } from './value-location.js'
import { searchJson, searchText } from './search-pieces.js'
import { searchPieces } from './search-pieces.js'

/** What a run was started with: arguments, environment, folder. */
export const runLocations = (tape: TapeLike, { seq }: RunEvent): ValueLocation[] => {
  const { env = {}, ...rest } = tape.details
  const location = (source: SourceKind, name: string, value: unknown): ValueLocation => ({
    seq,
    direction: 'in',
    source,
    name,
    search: (matcher) => searchJson(value, matcher),
  })
  return [
    location('arguments', 'the command line', {
      args: rest.args,
      command: rest.command,
      entry: rest.entry,
      cwd: rest.cwd,
    }),
    ...Object.entries(env).map(([name, value]) => location('environment', name, value)),
  ]
}

/** Variables that the program read. */
export const variableLocations = (tape: TapeLike, seq: number): ValueLocation[] =>
  readsOf(tape, seq).reads.map(({ name, value }) => ({
    seq,
    direction: 'in',
    source: 'environment',
    name,
    search: (matcher) => searchText(value ?? '', matcher, ''),
  }))

/** What the agent handed to a tool, a file, a process. */
export const callLocation = (
  tape: TapeLike,
  call: CallEvent,
  step: string | undefined,
): ValueLocation => ({
  seq: call.seq,
  direction: 'out',
  source: sourceOf(call),
  name: nameOf(call),
  ...(step !== undefined && { step }),
  ...(call.site !== undefined && { site: call.site }),
  search: (matcher) => [
    ...(call.title === undefined ? [] : searchText(call.title, matcher, titlePath(call))),
    ...searchBody(tape, call.seq, call.as, { matcher, root: call.kind === 'tool' ? 'args' : '' }),
  ],
})

/** What it got back. */
export const resultLocation = (
  tape: TapeLike,
  call: CallEvent,
  result: ResultEvent,
  step: string | undefined,
): ValueLocation => ({
  seq: result.seq,
  direction: 'in',
  source: sourceOf(call),
  name: nameOf(call),
  ...(step !== undefined && { step }),
  ...(call.site !== undefined && { site: call.site }),
  search: (matcher) => [
    ...searchBody(tape, result.seq, result.as, {
      matcher,
      root: call.kind === 'tool' ? 'result' : '',
    }),
    ...searchError(result.error, matcher),
  ],
})

/** What came of the run as a whole. */
export const endLocation = (tape: TapeLike, { seq, as, error }: EndEvent): ValueLocation => ({
  seq,
  direction: 'out',
  source: 'outcome',
  name: error === undefined ? 'the result' : 'the error',
  search: (matcher) => [
    ...searchBody(tape, seq, as, { matcher, root: '' }),
    ...searchError(error, matcher),
  ],
})

export const sourceOf = ({ kind }: CallEvent): SourceKind => kind

/** A file or a program by its path, a tool by its name. */
export const nameOf = ({ kind, name, title }: CallEvent): string =>
  kind === 'tool' ? name : (title ?? name)

export const searchError = (error: RecordedError | undefined, matcher: Matcher): Hit[] =>
  error === undefined ? [] : searchText(error.message, matcher, 'error.message')

const titlePath = ({ kind }: CallEvent): string =>
  ({
    file: 'path',
    process: 'command',
    tool: 'title',
    dns: 'host',
    input: 'name',
    worker: 'file',
    database: 'statement',
  })[kind]

const searchBody = (
  tape: TapeLike,
  seq: number,
  as: BodyForm | undefined,
  { matcher, root }: { matcher: Matcher; root: string },
): Hit[] => {
  if (as === undefined) return []
  const bytes = tape.body(seq)
  const text = as === 'json' ? utf8(bytes) : undefined
  if (text === undefined) return searchPieces([{ seq, bytes }], matcher)
  return searchJson(wireAsJson(JSON.parse(text)), matcher, root)
}
