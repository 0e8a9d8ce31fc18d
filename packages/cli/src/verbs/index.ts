import type { VerbEntry } from '../command-line/verb.js'

/** In the order a newcomer needs them. A verb's module is loaded when it is asked for. */
export const verbs: readonly VerbEntry[] = [
  {
    name: 'demo',
    summary: 'See it work: an agent with a bug, replayed, forked and mended',
    load: async () => (await import('./demo.js')).demo,
  },
  {
    name: 'record',
    summary: 'Run an agent and record everything it touches',
    load: async () => (await import('./record.js')).record,
  },
  {
    name: 'list',
    summary: 'Show the runs of this folder, newest first',
    load: async () => (await import('./list.js')).list,
  },
  {
    name: 'show',
    summary: 'Show the steps of a run, or one step in full',
    load: async () => (await import('./show.js')).show,
  },
  {
    name: 'ui',
    summary: 'Open the viewer: see a run, move through it, change it',
    load: async () => (await import('./ui.js')).ui,
  },
  {
    name: 'report',
    summary: 'Write a run and the viewer into one HTML file, to keep or to send',
    load: async () => (await import('./report.js')).report,
  },
  {
    name: 'diff',
    summary: 'Compare two runs, step by step',
    load: async () => (await import('./diff.js')).diff,
  },
  {
    name: 'locate',
    summary: 'Find where a value came from, and everywhere it went',
    load: async () => (await import('./locate.js')).locate,
  },
  {
    name: 'replay',
    summary: 'Run the recorded program again, offline, served from its tape',
    load: async () => (await import('./replay.js')).replay,
  },
  {
    name: 'step',
    summary: 'Go through a run step by step, forward and back, and look around',
    load: async () => (await import('./step.js')).step,
  },
  {
    name: 'eval',
    summary: 'Print what an expression was, each time a line ran',
    load: async () => (await import('./eval.js')).evaluate,
  },
  {
    name: 'snapshot',
    summary: "Capture the program's state at every step, by replaying",
    load: async () => (await import('./snapshot.js')).snapshot,
  },
  {
    name: 'fork',
    summary: 'Run again from a step, with another answer or another question',
    load: async () => (await import('./fork.js')).fork,
  },
  {
    name: 'rerun',
    summary: "Run today's code against a run, and pay only for what changed",
    load: async () => (await import('./rerun.js')).rerun,
  },
  {
    name: 'resume',
    summary: 'Go on with a run that was killed or ended with an error',
    load: async () => (await import('./resume.js')).resume,
  },
  {
    name: 'branches',
    summary: 'Show the tree of forks, reruns and resumes that a run belongs to',
    load: async () => (await import('./branches.js')).branches,
  },
  {
    name: 'files',
    summary: 'Show what a branch wrote; keep it, or throw it away',
    load: async () => (await import('./files.js')).files,
  },
  {
    name: 'blame',
    summary: 'Find which steps together made a run fail, by forking it',
    load: async () => (await import('./blame.js')).blame,
  },
  {
    name: 'chaos',
    summary: 'Find races: replay other legal orders of what reached the agent',
    load: async () => (await import('./chaos.js')).chaos,
  },
  {
    name: 'verify',
    summary: 'Check that tapes are intact and still replay; for CI',
    load: async () => (await import('./verify.js')).verify,
  },
  {
    name: 'trust',
    summary: 'Allow a run that was recorded elsewhere to be started here',
    load: async () => (await import('./trust.js')).trust,
  },
  {
    name: 'bisect',
    summary: 'Find the commit that changed what the program does, by replaying',
    load: async () => (await import('./bisect.js')).bisect,
  },
  {
    name: 'sample',
    summary: 'See guarded tools in three acts: a policy, a contract and a replay',
    load: async () => (await import('./sample.js')).sample,
  },
  {
    name: 'approvals',
    summary: 'List tool calls that wait for approval, and decide on them',
    load: async () => (await import('./approvals.js')).approvals,
  },
  {
    name: 'audit',
    summary: 'Tell which guarded tool calls a run made, under which rules',
    load: async () => (await import('./audit.js')).audit,
  },
  {
    name: 'policy',
    summary: 'Check a policy for tools, try it on recorded runs, suggest a rule',
    load: async () => (await import('./policy.js')).policy,
  },
  {
    name: 'proxy',
    summary: 'Record and replay programs of any language over HTTP',
    load: async () => (await import('./proxy.js')).proxy,
  },
  {
    name: 'doctor',
    summary: 'Find every source of nondeterminism in an agent, with file and line',
    load: async () => (await import('./doctor.js')).doctor,
  },
  {
    name: 'docs',
    summary: 'Read the documentation, or what an error code means',
    load: async () => (await import('./docs.js')).docs,
  },
  {
    name: 'export',
    summary: 'Write a run in another format',
    load: async () => (await import('./export.js')).exportRun,
  },
  {
    name: 'bench',
    summary: 'Measure how well blame finds causes that are known',
    load: async () => (await import('./bench.js')).bench,
  },
]
