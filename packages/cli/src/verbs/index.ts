import type { Verb } from '../verb.js'
import { approvals } from './approvals.js'
import { audit } from './audit.js'
import { bisect } from './bisect.js'
import { branches } from './branches.js'
import { chaos } from './chaos.js'
import { fork } from './fork.js'
import { rerun } from './rerun.js'
import { resume } from './resume.js'
import { demo } from './demo.js'
import { diff } from './diff.js'
import { doctor } from './doctor.js'
import { evaluate } from './eval.js'
import { exportRun } from './export.js'
import { files } from './files.js'
import { list } from './list.js'
import { locate } from './locate.js'
import { policy } from './policy.js'
import { proxy } from './proxy.js'
import { record } from './record.js'
import { replay } from './replay.js'
import { report } from './report.js'
import { sample } from './sample.js'
import { show } from './show.js'
import { snapshot } from './snapshot.js'
import { step } from './step.js'
import { ui } from './ui.js'
import { verify } from './verify.js'

/** In the order a newcomer needs them. */
export const verbs: readonly Verb[] = [
  demo,
  record,
  list,
  show,
  ui,
  report,
  diff,
  locate,
  replay,
  step,
  evaluate,
  snapshot,
  fork,
  rerun,
  resume,
  branches,
  files,
  chaos,
  verify,
  bisect,
  sample,
  approvals,
  audit,
  policy,
  proxy,
  doctor,
  exportRun,
]
