import { spawnSync } from 'node:child_process'

/** True if programs of guarded tools run in a sandbox on this machine. */
export const hasSandbox =
  process.env['RETAKE_SANDBOX'] !== 'off' &&
  spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']).status === 0
