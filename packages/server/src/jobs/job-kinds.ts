import { serverErrors } from '../errors.js'

export type JobKind = 'replay' | 'verify' | 'fork' | 'blame' | 'fix' | 'scan' | 'export'
export type JobOptions = Readonly<Record<string, string | number | boolean | readonly string[]>>

type OptionType = 'text' | 'texts' | 'flag' | { readonly max: number; readonly fallback: number }

interface KindOfJob {
  /** Longest time that one attempt may take. */
  readonly minutes: number
  readonly options: Readonly<Record<string, OptionType>>
  /** True if it starts the program of the run, which needs a sandbox. */
  readonly runsCode: (options: JobOptions) => boolean
  /** Arguments of `retake`. */
  readonly command: (run: string, options: JobOptions, surroundings: JobSurroundings) => string[]
  /** Options of `retake` that write a file for people to download, with its name. */
  readonly writes?: (run: string, options: JobOptions) => Readonly<Record<string, string>>
}

/** Network of a job. */
export interface JobSurroundings {
  /** Base URL of the model; missing without one. */
  readonly modelUrl?: string
  /** Variables `NAME=value` that must differ from the recording, so that the model is trusted. */
  readonly variables: readonly string[]
  /** True if the program sends requests to anything but models. They get recorded answers. */
  readonly sendsRequests: boolean
}

const EXPORTS: Readonly<Record<string, string>> = {
  jsonl: 'jsonl',
  'otlp-json': 'otlp.json',
  chrome: 'trace.json',
  har: 'har',
}

const repeated = (name: string, values: unknown): string[] =>
  ((values ?? []) as readonly string[]).map((value) => `--${name}=${value}`)

const given = (name: string, value: unknown): string[] =>
  typeof value === 'string' ? [`--${name}=${value}`] : []

const flag = (name: string, value: unknown): string[] => (value === true ? [`--${name}`] : [])

/** Code of the agent, if not that of the run: a commit of a repository. */
const GIT = { git: 'text', commit: 'text', root: 'text' } as const

const always = (): boolean => true
const never = (): boolean => false

/** Everything that workers can do with a run. */
const kinds: Readonly<Record<JobKind, KindOfJob>> = {
  replay: {
    minutes: 10,
    options: { observe: 'flag', strictFiles: 'flag', ...GIT },
    runsCode: always,
    command: (run, { observe, strictFiles }) => [
      'replay',
      run,
      '--trust',
      '--json',
      ...flag('observe', observe),
      ...flag('strict-files', strictFiles),
    ],
  },
  verify: {
    minutes: 10,
    options: { integrityOnly: 'flag', ...GIT },
    runsCode: ({ integrityOnly }) => integrityOnly !== true,
    command: (run, { integrityOnly }) => [
      'verify',
      run,
      '--trust',
      '--json',
      ...flag('integrity-only', integrityOnly),
    ],
  },
  fork: {
    minutes: 20,
    options: { at: 'text', set: 'texts', request: 'texts', status: 'text', name: 'text', ...GIT },
    runsCode: always,
    command: (run, { at, set, request, status, name }, { modelUrl, variables }) => [
      'fork',
      run,
      '--trust',
      '--json',
      // Without a model, identical requests get the answers of the parent.
      ...(modelUrl === undefined ? ['--tail=offline'] : []),
      ...repeated('env', variables),
      ...given('at', at),
      ...repeated('set', set),
      ...repeated('request', request),
      ...given('status', status),
      ...given('name', name),
    ],
  },
  blame: {
    minutes: 60,
    options: {
      oracle: 'text',
      expect: 'text',
      free: 'texts',
      forks: { max: 1000, fallback: 100 },
      ...GIT,
    },
    runsCode: always,
    command: (run, { oracle, expect, free, forks }, { modelUrl, variables, sendsRequests }) => [
      'blame',
      run,
      '--trust',
      '--json',
      '--yes',
      ...(modelUrl === undefined ? ['--offline'] : []),
      ...repeated('env', variables),
      ...(sendsRequests ? ['--free=http=recorded'] : []),
      `--max-forks=${String(forks)}`,
      ...given('oracle', oracle),
      ...given('expect', expect),
      ...repeated('free', free),
    ],
  },
  fix: {
    minutes: 60,
    options: {
      oracle: 'text',
      expect: 'text',
      model: 'text',
      forks: { max: 1000, fallback: 100 },
      ...GIT,
    },
    runsCode: always,
    command: (run, { oracle, expect, model, forks }, { modelUrl, variables }) => [
      'fix',
      run,
      '--trust',
      '--json',
      '--yes',
      ...(modelUrl === undefined ? ['--offline'] : []),
      ...repeated('env', variables),
      ...(modelUrl === undefined || model === undefined
        ? ['--no-ai']
        : [`--model=${String(model)}`, `--model-url=${modelUrl}`, '--api-key=none']),
      `--budget=${String(forks)}`,
      ...given('oracle', oracle),
      ...given('expect', expect),
    ],
    writes: (run) => ({ patch: `${run}.patch`, 'pull-request': `${run}.fix.md` }),
  },
  scan: { minutes: 10, options: {}, runsCode: never, command: (run) => ['scan', run, '--json'] },
  export: {
    minutes: 10,
    options: { format: 'text', content: 'flag' },
    runsCode: never,
    command: (run, options) => [
      'export',
      run,
      `--format=${formatOf(options)}`,
      '--allow-secrets',
      ...flag('content', options['content']),
    ],
    writes: (run, options) => ({ out: `${run}.${EXPORTS[formatOf(options)]}` }),
  },
}

const formatOf = ({ format = 'jsonl' }: JobOptions): string => {
  if (typeof format === 'string' && Object.hasOwn(EXPORTS, format)) return format
  throw serverErrors.REQUEST_INVALID(
    'The format',
    `Choose from ${Object.keys(EXPORTS).join(', ')}.`,
  )
}

export function kindOfJob(name: string): KindOfJob {
  if (!Object.hasOwn(kinds, name)) throw serverErrors.JOB_UNKNOWN(name)
  return kinds[name as JobKind]
}

/** Checks the options of a new job. */
export function jobOptions(kind: string, options: Readonly<Record<string, unknown>>): JobOptions {
  const { options: known, command } = kindOfJob(kind)
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
  command('', checked, { variables: [], sendsRequests: false })
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
  if (typeof type === 'object') {
    const count = value === undefined ? type.fallback : Number(value)
    if (Number.isInteger(count) && count >= 1 && count <= type.max) return count
    throw invalid(`It must be a whole number from 1 to ${type.max}.`)
  }
  if (value === undefined || value === null || value === '') return undefined
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
