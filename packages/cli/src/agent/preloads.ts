import type { Preload } from '@retake/tape'

/**
 * Modules that only change how others are loaded. They stay with Node: inside the run,
 * their compiler processes and caches would be part of the recording.
 */
const LOADER = packageNamed(
  String.raw`tsx|ts-node|tsimp|jiti|sucrase|amaro|esbuild-register|ts-blank-space|@swc-node[\\/]register|@babel[\\/]register|@oxc-node[\\/]core|@esbuild-kit[\\/][\w-]+`,
)
/** Loaders that leave TypeScript alone. */
const HELPER = packageNamed('tsconfig-paths|source-map-support')

/** Matches the name of a module that belongs to one of these packages. */
function packageNamed(names: string): RegExp {
  return new RegExp(String.raw`(?:^|[\\/]node_modules[\\/])(?:${names})(?:[\\/]|$)`)
}

const FLAGS: Readonly<Record<string, Preload['how']>> = {
  '--import': 'import',
  '--require': 'require',
  '-r': 'require',
}

/** Node flags without those that preload the user's modules, plus these modules in order. */
export function takePreloads(flags: readonly string[]): {
  readonly flags: string[]
  readonly preloads: Preload[]
} {
  const rest: string[] = []
  const preloads: Preload[] = []
  for (let index = 0; index < flags.length; index++) {
    const flag = flags[index] ?? ''
    const equals = flag.indexOf('=')
    const isJoined = flag.startsWith('--') && equals > 0
    const how = FLAGS[isJoined ? flag.slice(0, equals) : flag]
    const name = isJoined ? flag.slice(equals + 1) : flags[index + 1]
    if (how === undefined || name === undefined) rest.push(flag)
    else {
      if (!isJoined) index++
      if (LOADER.test(name) || HELPER.test(name)) rest.push(...(isJoined ? [flag] : [flag, name]))
      else preloads.push({ how, name })
    }
  }
  return { flags: rest, preloads }
}

/** True if the user preloads a TypeScript loader of their own, which then compiles the agent. */
export function hasTypeScriptLoader(
  nodeArgs: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const flags = [...splitOptions(env['NODE_OPTIONS'] ?? ''), ...nodeArgs]
  return flags.some((flag, index) => {
    const [, name = flag, value = flags[index + 1] ?? ''] = /^(--[^=]+)=(.*)$/s.exec(flag) ?? []
    return LOADER_FLAGS.has(name) && LOADER.test(value)
  })
}

const LOADER_FLAGS = new Set([...Object.keys(FLAGS), '--loader', '--experimental-loader'])

/** `takePreloads` for the text of `NODE_OPTIONS`. */
export function takeFromNodeOptions(text: string): {
  readonly text: string
  readonly preloads: Preload[]
} {
  const { flags, preloads } = takePreloads(splitOptions(text))
  return preloads.length === 0
    ? { text, preloads }
    : { text: flags.map(quoted).join(' '), preloads }
}

/** Split as Node does: at spaces, except within double quotes, where a backslash escapes. */
function splitOptions(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/g) ?? []
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"/g, (_, inside: string) =>
      inside.replaceAll(/\\(.)/g, '$1'),
    ),
  )
}

const quoted = (flag: string): string =>
  /[\s"\\]/.test(flag) ? `"${flag.replaceAll(/["\\]/g, String.raw`\$&`)}"` : flag

/**
 * Node loads the modules of `NODE_OPTIONS` into the `retake` command too, before any of its
 * code runs, so their effects there cannot be prevented. This line says so.
 */
export function ownPreloadLines(options = process.env['NODE_OPTIONS'] ?? ''): string[] {
  const names = takeFromNodeOptions(options).preloads.map(({ name }) => name)
  return names.length === 0
    ? []
    : [
        `NODE_OPTIONS also loaded ${names.join(', ')} into this command, outside of the run. Unset it: the run loads what it was recorded with.`,
      ]
}
