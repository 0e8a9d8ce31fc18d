import { agentPath } from '../../support/run-retake.mjs'
import { describeAttacks } from '../../support/describe-attacks.js'

/** Tapes, approvals and state of the guard, inside the folder that its tools may use. */
await describeAttacks(agentPath('guard/own-files-attacks.mjs'))
