import { guardVerbs } from '@retake/guard/verbs'
import { interopVerbs } from '@retake/interop/verbs'
import { labVerbs } from '@retake/lab/verbs'
import type { VerbTable } from '@retake/runner/command-line'
import { webVerbs } from '@retake/web/verbs'

/** Commands, in the order in which a newcomer needs them. */
export const verbs: VerbTable = {
  demo: ['Record, replay and fork a demo agent with a bug', () => import('./demo.js')],
  record: ['Run an agent and record everything it touches', () => import('./record.js')],
  list: ['List the runs in this folder, newest first', () => import('./list.js')],
  show: ['Show the steps of a run, or one step in full', () => import('./show.js')],
  tag: ['Tag a run, or add a note to it', () => import('./tag.js')],
  diff: ['Compare two runs step by step', () => import('./diff.js')],
  locate: ['Find where a value came from and where it went', () => import('./locate.js')],
  replay: ['Run a recorded program again, offline', () => import('./replay.js')],
  step: ['Step through a run, forward and back', () => import('./debug-step.js')],
  eval: ['Print the value of an expression at a line', () => import('./debug-eval.js')],
  snapshot: ["Capture the program's state at every step", () => import('./debug-snapshot.js')],
  fork: ['Change a step, and continue live from there', () => import('./fork.js')],
  rerun: ["Run today's code, and pay only for what changed", () => import('./rerun.js')],
  resume: ['Continue a run that was killed or failed', () => import('./resume.js')],
  branches: ['Show the forks, reruns and resumes of a run', () => import('./branches.js')],
  files: ['Show, apply or discard the files of a branch', () => import('./branches-files.js')],
  verify: ['Check that tapes are intact and still replay', () => import('./verify.js')],
  test: ['Write a test that replays a run', () => import('./test.js')],
  trust: ['Allow a run from another machine to start here', () => import('./trust.js')],
  proxy: ['Record and replay any language over HTTP', () => import('./proxy.js')],
  doctor: ['Find every source of nondeterminism', () => import('./doctor.js')],
  docs: ['Read the documentation, or look up an error', () => import('./docs.js')],
  rm: ['Remove runs and everything that belongs to them', () => import('./rm.js')],
  gc: ['Remove runs by age, size and outcome; restore them', () => import('./gc.js')],
  prune: ['Remove old runs, except pinned ones', () => import('./prune.js')],
  scan: ['Find secrets in tapes, reports and other files', () => import('./scrub-check.js')],
  scrub: ['Write a copy of a run without its secrets', () => import('./scrub.js')],
  server: ['Serve the runs of a team', () => import('./server.js')],
  worker: ['Run the jobs of a team server on this machine', () => import('./worker.js')],
  login: ['Sign in to a team server', () => import('./login.js')],
  push: ['Send runs to a team server', () => import('./push.js')],
  pull: ['Fetch runs from a team server', () => import('./pull.js')],
  ...webVerbs,
  ...labVerbs,
  ...guardVerbs,
  ...interopVerbs,
}
