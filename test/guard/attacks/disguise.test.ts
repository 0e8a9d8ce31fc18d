import { agentPath } from '../../support/run-retake.mjs'
import { describeAttacks } from '../../support/describe-attacks.js'

/** A bad value hidden among arguments: found before the tool starts, or met at the boundary. */
await describeAttacks(agentPath('guard/disguise-attacks.mjs'))
