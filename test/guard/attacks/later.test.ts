import { agentPath } from '../../support/run-retake.mjs'
import { describeAttacks } from '../../support/describe-attacks.js'

/** Code of a tool that Node or the guard runs when the call is not around: it stays in bounds. */
await describeAttacks(agentPath('guard/later-attacks.mjs'))
