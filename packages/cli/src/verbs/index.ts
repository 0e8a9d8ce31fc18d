import type { Verb } from '../command-line/verb.js'

/** A line of `retake --help`, and the module, which is loaded only if the command is used. */
export type VerbEntry = readonly [summary: string, load: () => Promise<{ readonly default: Verb }>]

/** The commands, in the order in which a newcomer needs them. */
export const verbs: Readonly<Record<string, VerbEntry>> = {
  demo: ['Record, replay and fork a demo agent with a bug', () => import('./demo.js')],
  record: ['Run an agent and record everything it touches', () => import('./record.js')],
  list: ['List the runs of this folder, newest first', () => import('./list.js')],
  show: ['Show the steps of a run, or one step in full', () => import('./show.js')],
  ui: ['Open the viewer to inspect and change a run', () => import('./ui.js')],
  report: ['Write a run and the viewer into one HTML file', () => import('./report.js')],
  diff: ['Compare two runs step by step', () => import('./diff.js')],
  locate: ['Find where a value came from and where it went', () => import('./locate.js')],
  replay: ['Run a recorded program again, offline', () => import('./replay.js')],
  step: ['Step through a run, forward and back', () => import('./step.js')],
  eval: ['Print an expression each time a line ran', () => import('./eval.js')],
  separate: ['Rank what separates failed from passed runs', () => import('./separate.js')],
  snapshot: ["Capture the program's state at every step", () => import('./snapshot.js')],
  fork: ['Run again from a step, with a change', () => import('./fork.js')],
  compare: ['Compare models and prompts from a step on', () => import('./compare.js')],
  rerun: ["Run today's code, and pay only for what changed", () => import('./rerun.js')],
  resume: ['Continue a run that was killed or failed', () => import('./resume.js')],
  branches: ['Show the forks, reruns and resumes of a run', () => import('./branches.js')],
  files: ['Show, apply or discard the files of a branch', () => import('./files.js')],
  blame: ['Find the steps that made a run fail', () => import('./blame.js')],
  chaos: ['Find races by replaying other event orders', () => import('./chaos.js')],
  verify: ['Check that tapes are intact and still replay', () => import('./verify.js')],
  test: ['Write a test that replays a run', () => import('./test.js')],
  ci: ["Check recorded runs against today's code", () => import('./ci.js')],
  trust: ['Allow a run from elsewhere to start here', () => import('./trust.js')],
  bisect: ['Find the commit that changed the behavior', () => import('./bisect.js')],
  sample: ['See guarded tools: policy, contract, replay', () => import('./sample.js')],
  approvals: ['List and decide tool calls awaiting approval', () => import('./approvals.js')],
  audit: ['Show guarded tool calls and the rules applied', () => import('./audit.js')],
  policy: ['Check, test and suggest policies for tools', () => import('./policy.js')],
  proxy: ['Record and replay any language over HTTP', () => import('./proxy.js')],
  doctor: ['Find every source of nondeterminism', () => import('./doctor.js')],
  docs: ['Read the documentation, or look up an error', () => import('./docs.js')],
  export: ['Write a run in another format', () => import('./export.js')],
  bench: ['Measure how well blame finds known causes', () => import('./bench.js')],
}
