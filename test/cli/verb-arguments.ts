/** How each verb is asked to do what it does with a run. One that is missing here fails the test. */
export const VERB_ARGUMENTS: Readonly<Record<string, (run: string) => string[] | undefined>> = {
  replay: (run) => [run],
  'debug step': (run) => [run],
  'debug eval': (run) => [run, '--at', 'agent.mjs:1', '1'],
  'debug snapshot': (run) => [run],
  fork: (run) => [run, '--at', 'e1', '--set', 'value=2'],
  rerun: (run) => [run],
  resume: (run) => [run],
  blame: (run) => [run, '--oracle', 'exit:0', '--yes'],
  chaos: (run) => [run],
  verify: (run) => [run],
  proxy: (run) => ['replay', run, '--port', '0'],
  test: (run) => [run],
  compare: (run) => [run, '--at', '1', '--models', 'other', '--oracle', 'exit:0', '--yes'],
  fix: (run) => [run, '--oracle', 'exit:0', '--no-ai', '--yes'],
  // These take many runs, and leave out those that are not trusted; see the tests.
  'verify --code today': () => undefined,
  'failures --variables': () => undefined,
  // These only read.
  show: (run) => [run],
  list: () => [],
  failures: () => [],
  tag: (run) => [run, '+planted'],
  'receipt make': (run) => [run, '--steps', '1'],
  'receipt check': () => undefined,
  'receipt keys': () => [],
  rm: () => ['--older-than', '1d'],
  report: (run) => [run],
  diff: (run) => [run, run],
  locate: (run) => [run, 'planted'],
  branches: (run) => [run],
  'branches --files': (run) => [run],
  'guard audit': (run) => [run],
  export: (run) => [run, '--jsonl'],
  'scrub --check': (run) => [run],
  scrub: (run) => [run],
  import: () => undefined,
  'guard approvals': () => [],
  'guard policy': () => undefined,
  docs: () => [],
  // These start what the user names, or what Retake brings along.
  record: () => undefined,
  doctor: () => undefined,
  demo: () => undefined,
  'demo guard': () => undefined,
  'blame --validate': () => undefined,
  trust: () => undefined,
  // Its jobs go through the same functions; see test/web.
  ui: () => undefined,
  // These need a team server, which runs programs only in a sandbox; see test/server.
  server: () => undefined,
  worker: () => undefined,
  login: () => undefined,
  push: () => undefined,
  pull: () => undefined,
}

/** Verbs that start the program of a run. */
export const STARTS =
  'replay,debug step,debug eval,debug snapshot,fork,rerun,resume,blame,chaos,verify,test,compare,fix'.split(
    ',',
  )
/** Verbs that only read runs. */
export const READS = Object.keys(VERB_ARGUMENTS).filter(
  (verb) => ![...STARTS, 'proxy'].includes(verb) && VERB_ARGUMENTS[verb]?.('') !== undefined,
)
