import { basename } from 'node:path'
import { disk } from '../../overlay/disk.js'
import { absolute } from '../../overlay/overlay-call.js'
import { outsideRuns } from '../../scope.js'
import { secretsOfEnvFile, secretsOfJsonFile } from '../../secrets.js'
import type { Session } from '../../sessions/session.js'
import { nativeFunction } from './file-natives.js'

const ENV_FILE = /^\.env(?:\..+)?$/
/** Files that list MCP servers, with what goes into their environments and headers. */
const MCP_FILE = /^(?:.*\.)?mcp(?:[-_.].*)?\.json$|^claude_desktop_config\.json$/i

/**
 * Learns the secrets of a `.env` file, or one that lists MCP servers, among `paths`,
 * whichever way it is about to be read or written, so that its content can be masked on the tape. The agent
 * still gets the real content while recording; on replay see `ServedFiles`.
 */
export function learnSecrets(session: Session, paths: readonly string[], data?: Uint8Array): void {
  for (const path of paths) {
    const name = basename(path)
    const isEnv = ENV_FILE.test(name)
    if (!isEnv && !MCP_FILE.test(name)) continue
    const texts = [
      data && Buffer.from(data).toString(),
      session.local === 'tape' ? undefined : read(session, path)?.toString(),
    ]
    for (const text of texts) {
      if (isEnv)
        for (const { name, value } of secretsOfEnvFile(text ?? '')) session.secrets.add(name, value)
      else
        for (const secret of secretsOfJsonFile(text ?? ''))
          session.secrets.learn(secret.name, secret.value)
    }
  }
}

const readFileSync = nativeFunction('readFileSync')

/** Current content of a file, for a served run; its secrets are registered. */
export function contentOf(session: Session, path: string): Buffer | undefined {
  const content = read(session, path)
  if (content !== undefined) learnSecrets(session, [path], content)
  return content
}

/** Undefined if the file does not exist, or if reading would consume it, as with a pipe. */
function read({ overlay }: Session, path: string): Buffer | undefined {
  try {
    const filePath = absolute(path.startsWith('file:') ? new URL(path) : path)
    return outsideRuns(() => {
      const at = overlay?.locate(overlay.resolve(filePath)).at ?? filePath
      return disk.statSync(at).isFile() ? (readFileSync(at) as Buffer) : undefined
    })
  } catch {
    return undefined
  }
}
