import type { VerbTable } from '@retake/runner/command-line'
import { capabilityVerbs } from './capabilities.js'

/** The commands of this package. */
const ownVerbs: VerbTable = {
  demo: {
    group: 'Record',
    summary: 'See how Retake works',
    load: () => import('./demo.js'),
  },
  record: {
    group: 'Record',
    summary: 'Run and record an agent',
    load: () => import('./record.js'),
  },
  replay: {
    group: 'Record',
    summary: 'Run it again, offline',
    load: () => import('./replay.js'),
  },
  verify: {
    group: 'Record',
    summary: 'Check that runs replay',
    load: () => import('./verify.js'),
  },
  resume: {
    group: 'Record',
    summary: 'Continue a stopped run',
    load: () => import('./resume.js'),
  },
  test: {
    group: 'Record',
    summary: 'Write a test from a run',
    load: () => import('./test.js'),
  },
  trust: {
    group: 'Record',
    summary: 'Trust a run from others',
    load: () => import('./trust.js'),
  },
  proxy: {
    group: 'Record',
    summary: 'Record other languages',
    load: () => import('./proxy.js'),
  },
  doctor: {
    group: 'Record',
    summary: 'Find nondeterminism',
    load: () => import('./doctor.js'),
  },
  docs: {
    group: 'Record',
    summary: 'Read the documentation',
    load: () => import('./docs.js'),
  },
  list: {
    group: 'Look',
    summary: 'List runs, newest first',
    load: () => import('./list.js'),
  },
  show: {
    group: 'Look',
    summary: 'Show the steps of a run',
    load: () => import('./show.js'),
  },
  diff: {
    group: 'Look',
    summary: 'Compare two runs',
    load: () => import('./diff.js'),
  },
  locate: {
    group: 'Look',
    summary: 'Trace a value',
    load: () => import('./locate.js'),
  },
  tag: {
    group: 'Look',
    summary: 'Add tags and notes',
    load: () => import('./tag.js'),
  },
  rm: {
    group: 'Look',
    summary: 'Remove or restore runs',
    load: () => import('./rm.js'),
  },
  debug: {
    group: 'Change',
    summary: 'Look inside a run',
  },
  'debug step': {
    summary: 'Step through a run, forward and back',
    load: () => import('./debug-step.js'),
  },
  'debug eval': {
    summary: 'Print the value of an expression at a line',
    load: () => import('./debug-eval.js'),
  },
  'debug snapshot': {
    summary: "Capture the program's state at every step",
    load: () => import('./debug-snapshot.js'),
  },
  step: { shortFor: 'debug step' },
  eval: { shortFor: 'debug eval' },
  fork: {
    group: 'Change',
    summary: 'Change a step, run on',
    load: () => import('./fork.js'),
  },
  rerun: {
    group: 'Change',
    summary: "Run today's code",
    load: () => import('./rerun.js'),
  },
  branches: {
    group: 'Change',
    summary: 'Show what was tried',
    load: () => import('./branches.js'),
  },
  'branches --files': {
    summary: 'Show, apply or discard the files of a branch',
    load: () => import('./branches-files.js'),
  },
  scrub: {
    group: 'Share',
    summary: 'Copy without secrets',
    load: () => import('./scrub.js'),
  },
  'scrub --check': {
    summary: 'Find secrets in tapes, reports and other files',
    load: () => import('./scrub-check.js'),
  },
  server: {
    group: 'Share',
    summary: 'Start a team server',
    load: () => import('./server.js'),
  },
  worker: {
    group: 'Share',
    summary: 'Run jobs of the server',
    load: () => import('./worker.js'),
  },
  login: {
    group: 'Share',
    summary: 'Sign in to the server',
    load: () => import('./login.js'),
  },
  push: {
    group: 'Share',
    summary: 'Send runs to the team',
    load: () => import('./push.js'),
  },
  pull: {
    group: 'Share',
    summary: 'Fetch runs of the team',
    load: () => import('./pull.js'),
  },
  gc: { nowCalled: 'retake rm --older-than <age>' },
  prune: { nowCalled: 'retake rm --older-than <age> --purge' },
  snapshot: { nowCalled: 'retake debug snapshot' },
  files: { nowCalled: 'retake branches --files' },
  scan: { nowCalled: 'retake scrub --check' },
}

/** All commands. In `retake --help`, each group has them in this order. */
export const verbs: VerbTable = {
  ...ownVerbs,
  ...(await capabilityVerbs()),
}
