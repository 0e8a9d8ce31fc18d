import { basename } from 'node:path'
import { absolute } from '../../overlay/overlay-call.js'
import { outsideRuns } from '../../scope.js'
import { secretsOfEnvFile } from '../../secrets.js'
import type { Session } from '../../sessions/session.js'
import { nativeFunction } from './file-natives.js'

const ENV_FILE = /^\.env(?:\..+)?$/

/**
 * Learns the secrets of a `.env` file among `paths`, whichever way it is about to
 * be read or written, so that its content can be masked on the tape. The agent
 * still gets the real content while recording, and the masked one on replay.
 */
export function learnSecrets(session: Session, paths: readonly string[], data?: Uint8Array): void {
  for (const path of paths) {
    if (!ENV_FILE.test(basename(path))) continue
    const texts = [
      data && Buffer.from(data).toString(),
      session.replaying ? '' : contentOf(session, path),
    ]
    for (const text of texts) {
      for (const { name, value } of secretsOfEnvFile(text ?? '')) session.secrets.add(name, value)
    }
  }
}

const readFileSync = nativeFunction('readFileSync')

function contentOf({ overlay }: Session, path: string): string {
  try {
    const place = absolute(path.startsWith('file:') ? new URL(path) : path)
    return outsideRuns(() => {
      const at = overlay?.locate(overlay.resolve(place)).at ?? place
      return String(readFileSync(at, 'utf8'))
    })
  } catch {
    return ''
  }
}
