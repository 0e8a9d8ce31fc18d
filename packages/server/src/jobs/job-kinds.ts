import { serverErrors } from '../edge/errors.js'
import type { JobKind, JobOptions } from '../database/tables.js'

type OptionType =
  | 'text'
  | 'texts'
  | 'flag'
  | { readonly oneOf: readonly string[] }
  | { readonly max: number; readonly fallback: number }

interface KindOfJob {
  /** Time limit of one attempt. */
  readonly minutes: number
  /** Each is passed to `retake` under the same name, except those in `SPECIAL`. */
  readonly options: Readonly<Record<string, OptionType>>
  /** True if the job starts the program of the run, which needs a sandbox. */
  readonly runsCode: (options: JobOptions) => boolean
  /** Further arguments of `retake`. */
  readonly more: (options: JobOptions, surroundings: JobSurroundings) => readonly string[]
  /** The command of `retake`, if it has another name than the job. */
  readonly verb?: string
  /** Options of `retake` that write a file to download, with the file name. */
  readonly writes?: (run: string, options: JobOptions) => Readonly<Record<string, string>>
}

export interface JobSurroundings {
  /** Base URL of the model; missing if there is none. */
  readonly modelUrl?: string
  /** Variables (`NAME=value`) that differ from the recording, so that programs trust the model gate. */
  readonly variables: readonly string[]
  /** True if the program sends requests other than to models. They get recorded answers. */
  readonly sendsRequests: boolean
}

const EXPORTS: Readonly<Record<string, string>> = {
  jsonl: 'jsonl',
  'otlp-json': 'otlp.json',
  chrome: 'trace.json',
  har: 'har',
}

/** Takes the code of the agent from a commit instead of the run. */
const GIT = { git: 'text', commit: 'text', root: 'text' } as const
/** Options for the worker itself, and options that `more` passes to `retake`. */
const SPECIAL: ReadonlySet<string> = new Set([...Object.keys(GIT), 'model', 'forks', 'format'])
const FORKS = { max: 1000, fallback: 100 }

const isOffline = ({ modelUrl }: JobSurroundings): boolean => modelUrl === undefined
const always = (): boolean => true
const never = (): boolean => false

const kinds: Readonly<Record<JobKind, KindOfJob>> = {
  replay: {
    minutes: 10,
    options: { observe: 'flag', strictFiles: 'flag', ...GIT },
    runsCode: always,
    more: () => ['--trust', '--json'],
  },
  verify: {
    minutes: 10,
    options: { integrityOnly: 'flag', ...GIT },
    runsCode: ({ integrityOnly }) => integrityOnly !== true,
    more: () => ['--trust', '--json'],
  },
  fork: {
    minutes: 20,
    options: { at: 'text', set: 'texts', request: 'texts', status: 'text', name: 'text', ...GIT },
    runsCode: always,
    more: (_, given) => [
      '--trust',
      '--json',
      // Without a model, identical requests get the recorded answers of the parent.
      ...(isOffline(given) ? ['--tail=offline'] : []),
      ...given.variables.map((variable) => `--env=${variable}`),
    ],
  },
  blame: {
    minutes: 60,
    options: { oracle: 'text', expect: 'text', free: 'texts', forks: FORKS, ...GIT },
    runsCode: always,
    more: ({ forks }, given) => [
      ...searchArguments(given),
      `--max-forks=${String(forks)}`,
      ...(given.sendsRequests ? ['--free=http=recorded'] : []),
    ],
  },
  fix: {
    minutes: 60,
    options: { oracle: 'text', expect: 'text', model: 'text', forks: FORKS, ...GIT },
    runsCode: always,
    more: ({ model, forks }, given) => [
      ...searchArguments(given),
      `--budget=${String(forks)}`,
      ...(given.modelUrl === undefined || model === undefined
        ? ['--no-ai']
        : [`--model=${String(model)}`, `--model-url=${given.modelUrl}`, '--api-key=none']),
    ],
    writes: (run) => ({ patch: `${run}.patch`, 'pull-request': `${run}.fix.md` }),
  },
  scan: {
    verb: 'scrub',
    minutes: 10,
    options: {},
    runsCode: never,
    more: () => ['--check', '--json'],
  },
  export: {
    minutes: 10,
    options: { format: { oneOf: Object.keys(EXPORTS) }, content: 'flag' },
    runsCode: never,
    more: ({ format = 'jsonl' }) => [`--format=${String(format)}`, '--allow-secrets'],
    writes: (run, { format = 'jsonl' }) => ({ out: `${run}.${EXPORTS[String(format)]}` }),
  },
}

const searchArguments = (given: JobSurroundings): string[] => [
  '--trust',
  '--json',
  '--yes',
  ...(isOffline(given) ? ['--offline'] : []),
  ...given.variables.map((variable) => `--env=${variable}`),
]

export function kindOfJob(name: string): KindOfJob {
  if (!Object.hasOwn(kinds, name)) throw serverErrors.JOB_UNKNOWN(name)
  return kinds[name as JobKind]
}

/** Arguments of `retake`. */
export function jobCommand(
  { kind, run, options }: { kind: JobKind; run: string; options: JobOptions },
  surroundings: JobSurroundings,
): string[] {
  const { options: known, more, verb = kind } = kindOfJob(kind)
  const given = Object.keys(known).flatMap((name) => {
    const value = options[name]
    if (SPECIAL.has(name) || value === undefined || value === false) return []
    const option = `--${name.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`
    if (value === true) return [option]
    return [value].flat().map((each) => `${option}=${each}`)
  })
  return [verb, run, ...more(options, surroundings), ...given]
}

export function jobOptions(kind: string, options: Readonly<Record<string, unknown>>): JobOptions {
  const { options: known } = kindOfJob(kind)
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined)
    throw serverErrors.REQUEST_INVALID(
      `The option "${unknown.slice(0, 50)}"`,
      `A ${kind} job takes ${Object.keys(known).join(', ') || 'no options'}.`,
    )
  const entries = Object.entries(known).flatMap(([name, type]) => {
    const value = readOption(name, type, options[name])
    return value === undefined ? [] : [[name, value]]
  })
  const checked = Object.fromEntries(entries) as JobOptions
  if (kind === 'fork' && checked['at'] === undefined)
    throw serverErrors.REQUEST_INVALID('The option "at"', 'A fork needs the step to change.')
  return checked
}

function readOption(
  name: string,
  type: OptionType,
  value: unknown,
): JobOptions[string] | undefined {
  const invalid = (why: string) => serverErrors.REQUEST_INVALID(`The option "${name}"`, why)
  const isText = (each: unknown): each is string =>
    typeof each === 'string' && each.length <= 10_000 && !each.includes('\0')
  if (typeof type === 'object' && 'max' in type) {
    const count = value === undefined ? type.fallback : Number(value)
    if (Number.isInteger(count) && count >= 1 && count <= type.max) return count
    throw invalid(`It must be a whole number from 1 to ${type.max}.`)
  }
  if (value === undefined || value === null || value === '') return undefined
  if (typeof type === 'object') {
    if (type.oneOf.includes(value as string)) return value as string
    throw invalid(`Choose from ${type.oneOf.join(', ')}.`)
  }
  if (type === 'flag') {
    if (typeof value === 'boolean') return value
    throw invalid('It must be true or false.')
  }
  if (type === 'text') {
    if (isText(value)) return value
    throw invalid('It must be a string.')
  }
  if (Array.isArray(value) && value.length <= 100 && value.every(isText)) return value
  throw invalid('It must be a list of strings.')
}
