import { parseEnv } from 'node:util'
import type { Session } from '../../sessions/session.js'
import { performCall } from '../captured-call.js'
import { pathText } from './file-arguments.js'
import { nativeFunction } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { callLive } from './live-call.js'
import { contentOf, learnSecrets } from './file-secrets.js'
import { plain } from '../result-form.js'
import { wrapFileFunction } from './file-wrapper.js'
import { replace } from '../patch.js'
import type { Undo } from '../patch.js'

/** `process.loadEnvFile` reads a file without `fs`: the variables it sets come from the tape on replay. */
export function patchLoadEnvFile(): Undo {
  const native = process.loadEnvFile as FileFunction
  const inside = (session: Session, [path = '.env']: unknown[]): void => {
    const title = pathText(path)
    learnSecrets(session, [title])
    const call = {
      kind: 'file' as const,
      name: 'process.loadEnvFile',
      title,
      input: {},
      form: plain,
      again: () => {
        const content = contentOf(session, title)
        return content && { ...parseEnv(content.toString()) }
      },
    }
    const variables = performCall(session, call, () => {
      const read = nativeFunction('readFileSync')
      const text = callLive(session, 'readFile', read, [path, 'utf8']) as string
      return { ...parseEnv(text) }
    }) as Record<string, string>
    const target = session.environment
    for (const [name, value] of Object.entries(variables))
      if (target === undefined) process.env[name] ??= value
      else if (target.get(name) === undefined) target.set(name, value)
  }
  const patched = wrapFileFunction(native, inside, { name: 'loadEnvFile', style: 'sync' })
  return replace(process, 'loadEnvFile', patched)
}
