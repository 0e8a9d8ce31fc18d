import { spawnSync } from 'node:child_process'

/**
 * Times of a Node process and its children, from the shell.
 *
 * @param {readonly string[]} args
 * @param {string} cwd
 */
export function processTimes(args, cwd) {
  const started = performance.now()
  const script = '"$@" > /dev/null 2>&1; times'
  const { stdout } = spawnSync('bash', ['-c', script, 'bash', process.execPath, ...args], {
    cwd,
    encoding: 'utf8',
  })
  const wallMs = performance.now() - started
  const [, children = ''] = stdout.trim().split('\n')
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)]
  const cpuMs = times.reduce((sum, [, min, s]) => sum + Number(min) * 60_000 + Number(s) * 1000, 0)
  return { cpuMs, wallMs }
}
