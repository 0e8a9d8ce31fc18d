import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { serverErrors } from '../edge/errors.js'
import type { JobOptions } from '../database/tables.js'

const run = promisify(execFile)
const GIT_MS = 5 * 60_000

/** Allows only safe transports, and runs no programs of the repository or configuration. */
const SAFE = [
  'protocol.allow=never',
  'protocol.https.allow=always',
  'protocol.file.allow=always',
  'http.followRedirects=false',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
].flatMap((setting) => ['-c', setting])

/**
 * Checks the repository and commit of a job. `sources` are the addresses that the operator allows,
 * such as `https://github.com/acme/` or `/srv/git/`, including everything below them.
 */
export function checkGitSource(
  { git, commit, root }: JobOptions,
  sources: readonly string[],
): void {
  if (git === undefined && commit === undefined && root === undefined) return
  const invalid = (name: string, why: string) =>
    serverErrors.REQUEST_INVALID(`The option "${name}"`, why)
  if (typeof commit !== 'string' || !/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(commit))
    throw invalid('commit', 'It must be a full commit ID, not a branch or a tag.')
  if (root !== undefined && !isPlainPath(String(root)))
    throw invalid(
      'root',
      'It must be an absolute path: the folder of the repository when the run was recorded.',
    )
  const address = normalized(String(git ?? ''))
  if (address === undefined)
    throw invalid('git', 'It must be an address that starts with https://, or an absolute path.')
  if (
    !sources.some((source) => {
      const root = normalized(source)?.replace(/\/$/, '')
      return root !== undefined && (address === root || address.startsWith(`${root}/`))
    })
  )
    throw invalid('git', 'The server setting RETAKE_GIT_SOURCES does not allow this address.')
}

/** The address if git and the file system cannot interpret it differently; otherwise undefined. */
function normalized(text: string): string | undefined {
  if (isPlainPath(text)) return text
  const url = text.startsWith('https://') && URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && !url.hash
  // Encoded dots and slashes must not lead out of the allowed folder.
  return isPlain && !/%2f|%2e|%5c/i.test(url.pathname) ? url.href : undefined
}

const isPlainPath = (text: string): boolean =>
  /^\/[\w./@+ -]*$/.test(text) && path.posix.normalize(text) === text

/** Fetches one commit and archives its files below `root`, without git credentials. */
export async function archiveCommit(source: {
  readonly url: string
  readonly commit: string
  /** Folder of the repository when the run was recorded. */
  readonly root: string
  readonly archive: string
  readonly signal: AbortSignal
}): Promise<void> {
  const { url, commit, root, archive, signal } = source
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-git-'))
  const env = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_LFS_SKIP_SMUDGE: '1' }
  const git = (...args: string[]) =>
    run('git', [...SAFE, '-C', folder, ...args], { env, signal, timeout: GIT_MS })
  try {
    await git('init', '--quiet', '--bare', '.')
    await git(
      'fetch',
      '--quiet',
      '--no-tags',
      '--depth=1',
      '--no-recurse-submodules',
      '--',
      url,
      commit,
    )
    const prefix = `${root.replace(/^\/+|\/+$/g, '')}/`
    await git('archive', '--format=tar.gz', `--prefix=${prefix}`, `--output=${archive}`, commit)
  } catch (error) {
    if (signal.aborted) throw error
    const { stderr = '' } = error as { stderr?: string }
    throw serverErrors.COMMIT_NOT_FETCHED(
      url,
      commit,
      stderr.trim().split('\n').at(-1) || String(error),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
