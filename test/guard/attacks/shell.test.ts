import { agentPath } from '../../support/run-retake.mjs'
import { describeAttacks } from '../../support/describe-attacks.js'

/** Real programs, threads and signals: what is not allowed leaves no mark, and its benign twin does. */
await describeAttacks(agentPath('guard/shell-attacks.mjs'))
