import os from 'node:os'
import path from 'node:path'

/**
 * The folder for Retake's state about this machine and user, outside of
 * every project: nothing that arrives with a repository or a tape can be in it.
 */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string {
  const named = env['XDG_STATE_HOME'] ?? ''
  // The XDG specification requires programs to ignore relative paths.
  const base = path.isAbsolute(named) ? named : path.join(os.homedir(), '.local', 'state')
  return path.join(base, 'retake')
}
