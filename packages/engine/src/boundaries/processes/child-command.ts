import { noteBoundary } from '../patching/note-boundary.js'
import { currentSession } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { descriptorsOf } from '../files/tape-descriptors.js'
import { unrecordedFileSession } from '../files/unrecorded-session.js'

/** The run whose files a child process started now would share. */
export const fileSession = (): Session | undefined => currentSession() ?? unrecordedFileSession()

/**
 * The stdio of a child. Descriptors from a tape refer to the files behind them, not to whatever has
 * their number in this process.
 */
export function childStdio(session: Session | undefined, stdio: unknown): unknown {
  if (session === undefined) return stdio
  noteChildUsesDisk(session)
  const descriptors = descriptorsOf(session)
  if (!descriptors.isNeeded || !Array.isArray(stdio)) return stdio
  return stdio.map((entry: unknown) => {
    const fd = typeof entry === 'number' ? entry : (entry as { fd?: unknown } | null)?.fd
    return typeof fd === 'number' && fd > 2 ? descriptors.real(fd) : entry
  })
}

export function noteChildUsesDisk(session: Session): void {
  if (session.overlay === undefined) return
  noteBoundary(session, {
    name: 'files of a child',
    text: 'a process or thread that a branch starts works on the disk, not on the files of the branch',
  })
}

/** A command as it may be shown. */
export function commandLine({ secrets }: Session, file: string, args: readonly string[]): string {
  const shown = [file, ...secrets.arguments(args, file)]
  return secrets.text(shown.map(nameNode).map(quote).join(' '))
}

/** The parts of a command that a replay compares. Excludes the environment, which may contain secrets. */
export function describeCommand(
  { secrets }: Session,
  file: string,
  args: readonly string[],
  options: { cwd?: string | URL; shell?: unknown; input?: unknown },
): object {
  return {
    file: nameNode(file),
    args: secrets.arguments(args.map(nameNode), file),
    ...(options.cwd !== undefined && { cwd: String(options.cwd) }),
    ...(options.shell !== undefined && options.shell !== false && { shell: options.shell }),
    ...(options.input !== undefined && { input: options.input }),
  }
}

/** Node may be installed at another path on the machine that replays. */
const nameNode = (word: string): string => (word === process.execPath ? 'node' : word)

const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
