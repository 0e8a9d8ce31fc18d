/** How each verb is asked to do what it does with a run. One that is missing here fails the test. */
export const VERB_ARGUMENTS: Readonly<Record<string, (run: string) => string[] | undefined>> = {
  replay: (run) => [run],
  step: (run) => [run],
  eval: (run) => [run, '--at', 'agent.mjs:1', '1'],
  snapshot: (run) => [run],
  fork: (run) => [run, '--at', 'e1', '--set', 'value=2'],
  rerun: (run) => [run],
  resume: (run) => [run],
  blame: (run) => [run, '--oracle', 'exit:0', '--yes'],
  chaos: (run) => [run],
  verify: (run) => [run],
  bisect: (run) => [run, '--good', 'HEAD~1'],
  proxy: (run) => ['replay', run, '--port', '0'],
  test: (run) => [run],
  compare: (run) => [run, '--at', '1', '--models', 'other', '--oracle', 'exit:0', '--yes'],
  fix: (run) => [run, '--oracle', 'exit:0', '--no-ai', '--yes'],
  // These take many runs, and leave out those that are not trusted; see the tests.
  ci: () => undefined,
  separate: () => undefined,
  // These only read.
  show: (run) => [run],
  list: () => [],
  failures: () => [],
  tag: (run) => [run, '+planted'],
  prune: () => ['--older-than', '1d'],
  gc: () => ['--older-than', '1d'],
  receipt: (run) => [run, '--steps', '1'],
  'verify-receipt': () => undefined,
  keys: () => [],
  // Checked against its arguments only: the other commands need the run.
  rm: () => undefined,
  report: (run) => [run],
  diff: (run) => [run, run],
  locate: (run) => [run, 'planted'],
  branches: (run) => [run],
  files: (run) => [run],
  audit: (run) => [run],
  export: (run) => [run, '--jsonl'],
  scan: (run) => [run],
  scrub: (run) => [run],
  import: () => undefined,
  approvals: () => [],
  policy: () => undefined,
  docs: () => [],
  // These start what the user names, or what Retake brings along.
  record: () => undefined,
  doctor: () => undefined,
  demo: () => undefined,
  sample: () => undefined,
  bench: () => undefined,
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
  'replay step eval snapshot fork rerun resume blame chaos verify bisect test compare fix'.split(
    ' ',
  )
/** Verbs that only read runs. */
export const READS = Object.keys(VERB_ARGUMENTS).filter(
  (verb) => ![...STARTS, 'proxy'].includes(verb) && VERB_ARGUMENTS[verb]?.('') !== undefined,
)
