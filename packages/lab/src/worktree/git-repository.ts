import { cliErrors } from '@retake/runner/errors'
import { type ShellCommandEnd, runShellCommand } from '@retake/runner/agent'

/** The repository of a folder. Read-only except for worktrees. */
export class GitRepository {
  private constructor(readonly top: string) {}

  static async find(folder: string): Promise<GitRepository> {
    const { code, stdout, stderr } = await git(folder, ['rev-parse', '--show-toplevel'])
    if (code !== 0) throw cliErrors.NOT_A_REPOSITORY(folder, stderr.trim())
    return new GitRepository(stdout.replace(/\r?\n$/, ''))
  }

  async resolve(revision: string): Promise<string> {
    const wanted = `${revision}^{commit}`
    const found = await this.#try('rev-parse', '--verify', '--quiet', '--end-of-options', wanted)
    if (found.code !== 0) throw cliErrors.UNKNOWN_REVISION(revision, this.top)
    return found.stdout.trim().split('\n').at(-1) ?? ''
  }

  async changedFiles(): Promise<string[]> {
    // Without optional locks, git does not even refresh the index.
    const text = await this.run(
      '--no-optional-locks',
      'status',
      '--porcelain',
      '--untracked-files=no',
    )
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(3))
  }

  async addWorktree(folder: string, hash: string): Promise<void> {
    await this.run('worktree', 'add', '--quiet', '--force', '--detach', folder, hash)
  }

  /** Works even if the folder is gone. Unlike `prune`, leaves other worktrees alone. */
  async removeWorktree(folder: string): Promise<boolean> {
    return (await this.#try('worktree', 'remove', '--force', '--force', folder)).code === 0
  }

  async run(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#try(...args)
    if (code !== 0) throw cliErrors.GIT_FAILED(args.join(' '), stderr.trim())
    return stdout
  }

  #try(...args: readonly string[]): Promise<ShellCommandEnd> {
    return git(this.top, args)
  }
}

/** Runs git without the user's hooks and without fetching anything. */
async function git(cwd: string, args: readonly string[]): Promise<ShellCommandEnd> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_LAZY_FETCH: '1',
  }
  // Hooks set these, which would force a single work tree.
  for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']) delete env[name]
  try {
    return await runShellCommand('git', ['-c', 'core.hooksPath=/dev/null', ...args], { cwd, env })
  } catch (error) {
    throw cliErrors.GIT_MISSING(error)
  }
}
