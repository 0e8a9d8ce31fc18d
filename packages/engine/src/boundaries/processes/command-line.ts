/** A command as a person would type it, for titles. */
export function commandLine(file: string, args: readonly string[]): string {
  return [file, ...args].map(nameNode).map(quote).join(' ')
}

/** What of a command is compared on replay: never its environment, which may hold secrets. */
export function describeCommand(
  file: string,
  args: readonly string[],
  options: { cwd?: string | URL; shell?: unknown; input?: unknown },
): object {
  return {
    file: nameNode(file),
    args: args.map(nameNode),
    ...(options.cwd !== undefined && { cwd: String(options.cwd) }),
    ...(options.shell !== undefined && options.shell !== false && { shell: options.shell }),
    ...(options.input !== undefined && { input: options.input }),
  }
}

/** Node may stand elsewhere on the machine that replays. */
const nameNode = (word: string): string => (word === process.execPath ? 'node' : word)

const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
