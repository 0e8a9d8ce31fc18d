/**
 * Puts the engine around Jest's realms, before anything else would put it into
 * this one: what Jest itself asks the clock and chance for is not the agent's.
 */
import { ignoreRunner, install } from '@retake/engine'

install({ ownRealm: false })
ignoreRunner(/[\\/]node_modules[\\/](?:@jest|jest-[\w-]+|write-file-atomic|signal-exit)[\\/]/)
