import {
  being,
  DataCheck,
  type Fields,
  flag,
  objectOf,
  oneWord,
  required,
  whole,
} from '@retake/engine/schema'
import { serverErrors } from '../edge/errors.js'
import type { JobKind, JobOptions } from '../database/tables.js'

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 10_000 && !value.includes('\0')
const text = being<string>('a string', isText)
const texts = being<readonly string[]>(
  'a list of strings',
  (value) => Array.isArray(value) && value.length <= 100 && value.every(isText),
)

interface KindOfJob {
  /** Time limit of one attempt. */
  readonly minutes: number
  /** Each is passed to `retake` under the same name, except those in `SPECIAL`. */
  readonly options: Fields
  /** Values of options that are missing. */
  readonly defaults?: JobOptions
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
const GIT = { git: text, commit: text, root: text }
/** Options for the worker itself, and options that `more` passes to `retake`. */
const SPECIAL: ReadonlySet<string> = new Set([...Object.keys(GIT), 'model', 'forks', 'format'])
const FORKS = { forks: whole(1, 1000) }
const FORKS_DEFAULT = { forks: 100 }

const isOffline = ({ modelUrl }: JobSurroundings): boolean => modelUrl === undefined
const always = (): boolean => true
const never = (): boolean => false

const kinds: Readonly<Record<JobKind, KindOfJob>> = {
  replay: {
    minutes: 10,
    options: { observe: flag, strictFiles: flag, ...GIT },
    runsCode: always,
    more: () => ['--trust', '--json'],
  },
  verify: {
    minutes: 10,
    options: { integrityOnly: flag, ...GIT },
    runsCode: ({ integrityOnly }) => integrityOnly !== true,
    more: () => ['--trust', '--json'],
  },
  fork: {
    minutes: 20,
    options: {
      at: required(text, 'A fork needs the step to change.'),
      set: texts,
      request: texts,
      status: text,
      name: text,
      ...GIT,
    },
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
    options: { oracle: text, expect: text, free: texts, ...FORKS, ...GIT },
    defaults: FORKS_DEFAULT,
    runsCode: always,
    more: ({ forks }, given) => [
      ...searchArguments(given),
      `--max-forks=${String(forks)}`,
      ...(given.sendsRequests ? ['--free=http=recorded'] : []),
    ],
  },
  fix: {
    minutes: 60,
    options: { oracle: text, expect: text, model: text, ...FORKS, ...GIT },
    defaults: FORKS_DEFAULT,
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
    options: { format: oneWord(...Object.keys(EXPORTS)), content: flag },
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
  const { options: fields, defaults } = kindOfJob(kind)
  // Forms send empty texts for what is not filled in, and numbers as texts.
  const given = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === null || value === '') return []
    return [[name, name === 'forks' ? Number(value) : value]]
  })
  const checked = { ...defaults, ...Object.fromEntries(given) } as JobOptions
  const check = new DataCheck()
  objectOf(fields)(check, [], checked)
  const [problem] = check.problems
  if (problem === undefined) return checked
  const [name = 'at'] = problem.path
  throw serverErrors.REQUEST_INVALID(
    `The option "${String(name).slice(0, 50)}"`,
    problem.message.slice(0, 500),
  )
}
