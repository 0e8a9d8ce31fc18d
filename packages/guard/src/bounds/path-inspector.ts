import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FileDenialCode } from './file-denials.js'
import type { FileRoots } from './file-roots.js'
import { mayHaveNameOutside } from './hard-links.js'
import { statOf, type ResolvedPath, resolvePath } from './resolve-path.js'

/**
 * Forms of a path that mean a machine, a device or a stream somewhere, whatever they are
 * called with. None of them is a name that people give to files.
 */
export function forbiddenForm(text: string): FileDenialCode | undefined {
  if (text.includes('\0')) return 'PATH_NULL_BYTE'
  if (/^[\\/]{2}[.?][\\/]|^\\\?\?\\/.test(text)) return 'PATH_DEVICE'
  if (/^\\\\[\w.$-]{2,}(?:[\\/]|$)/.test(text)) return 'PATH_UNC'
  if (/:[^:\\/]*:\$[A-Z_]+$/i.test(text)) return 'PATH_STREAM'
  if (process.platform === 'win32') return forbiddenOnWindows(text)
  return /^[A-Za-z]:[\\/]/.test(text) ? 'PATH_DRIVE' : undefined
}

/** Names that Windows gives to devices, in every folder and with every extension. */
const WINDOWS_DEVICE = /(?:^|[\\/])(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:[.: ][^\\/]*)?$/i

function forbiddenOnWindows(text: string): FileDenialCode | undefined {
  if (/^[\\/]{2}[^\\/]/.test(text)) return 'PATH_UNC'
  if (WINDOWS_DEVICE.test(text)) return 'PATH_DEVICE'
  if (/:/.test(text.replace(/^[A-Za-z]:/, ''))) return 'PATH_STREAM'
  return /(?:^|[\\/])[^\\/]*[^\\/. ][. ]+(?:[\\/]|$)/.test(text) ? 'PATH_TRAILING' : undefined
}

/** Places of the system that look like files: devices, and the insides of processes. */
export const isDevicePath = (absolute: string): boolean =>
  /^\/(?:dev|proc|sys)(?:\/|$)/.test(absolute)

/** True if one of the names is `..`, with either separator. */
export const climbs = (text: string): boolean => /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(text)

/** One way to write a path so that it does not look like one, and the code for it. */
interface Disguise {
  readonly code: FileDenialCode
  /** The text without it; the same text where there is none. */
  readonly undo: (text: string) => string
}

/** In the order in which they are taken off. */
const DISGUISES: readonly Disguise[] = [
  { code: 'PATH_ENCODED', undo: decodePercent },
  { code: 'PATH_LOOK_ALIKE', undo: plainCharacters },
  { code: 'PATH_TRAILING', undo: withoutTrailing },
]

/** How often text is decoded that was encoded more than once. */
const ROUNDS = 4

/** Percent encoding, also in the forms that lax decoders accept: `%u002e`, and bytes longer than they need to be. */
function decodePercent(text: string): string {
  let decoded = text
  for (let round = 0; round < ROUNDS && decoded.includes('%'); round++) {
    const before = decoded
    decoded = decoded
      .replace(/%u([\da-f]{4})/gi, (_, digits: string) => character(digits))
      .replace(/%(?:c0%|e0%80%|f0%80%80%)([89ab][\da-f])/gi, (_, low: string) =>
        String.fromCharCode(Number.parseInt(low, 16) & 0x3f),
      )
      .replace(/%c1%([89ab][\da-f])/gi, (_, low: string) =>
        String.fromCharCode(0x40 | (Number.parseInt(low, 16) & 0x3f)),
      )
      .replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
        Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
      )
    if (decoded === before) break
  }
  return decoded
}

const character = (digits: string): string => String.fromCharCode(Number.parseInt(digits, 16))

/** Characters that NFKC leaves alone although they are drawn like a separator or a dot. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '\u2215': '/', // division slash
  '\u2044': '/', // fraction slash
  '\u29f8': '/', // big solidus
  '\u2571': '/', // box drawings light diagonal
  '\u1735': '/', // Philippine single punctuation
  '\u2216': '\\', // set minus
  '\u29f5': '\\', // reverse solidus operator
  '\u29f9': '\\', // big reverse solidus
  '\u3002': '.', // ideographic full stop
  '\u0701': '.', // Syriac supralinear full stop
  '\ua4f8': '.', // Lisu letter tone mya ti
}

/** Full width, one dot leader, invisible characters and the like as what they stand for. */
function plainCharacters(text: string): string {
  if (!/[^\x20-\x7e]/.test(text)) return text
  return text
    .normalize('NFKC')
    .replace(/\P{ASCII}/gu, (each) => LOOK_ALIKES[each] ?? each)
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g, '')
}

/** Without the dots and spaces that Windows drops at the end of every name. */
function withoutTrailing(text: string): string {
  return text.replace(/[^\\/]+/g, (name) => {
    if (/^\.+$/.test(name)) return name
    if (/^\.\.[. ]+$/.test(name)) return '..'
    return name.replace(/[. ]+$/, '')
  })
}

/** Longer than every path. */
const LENGTH = 4096

/**
 * Looks at the texts among the arguments of a call, whatever their names, for paths that
 * lead out of the folders. It may overlook one, the boundary does not; it must not take
 * ordinary text for a path. So text that could be both is only refused when something on
 * disk says that it is a path: it exists, or a link that leads out is on its way.
 */
export class PathInspector {
  readonly #lists: readonly FileRoots[]

  /** An argument may be read or written: a path that either list allows is let through. */
  constructor(...lists: readonly FileRoots[]) {
    this.#lists = [...new Set(lists)]
  }

  inspect(text: string): FileDenialCode | undefined {
    if (text.length > LENGTH) return undefined
    if (text.includes('\0')) return cutsPath(text) ? 'PATH_NULL_BYTE' : undefined
    let shown = text.trim()
    if (shown === '' || isNoPath(shown)) return undefined
    const plain = this.#judge(shown)
    if (plain !== undefined) return plain
    for (const { code, undo } of DISGUISES) {
      const before = shown
      shown = undo(before)
      if (shown !== before && this.#judge(shown) !== undefined) return code
    }
    return undefined
  }

  #judge(text: string): FileDenialCode | undefined {
    if (text === '') return undefined
    if (/^file:/i.test(text)) return this.#judgeUrl(text)
    if (text.startsWith('~')) return this.#judgeHomeDirectory(text)
    const form = /\s/.test(text) ? undefined : forbiddenForm(text)
    if (form !== undefined)
      return form === 'PATH_DRIVE' && this.#allowsDrive(text) ? undefined : form
    if (/^\/\/[\w-]+\/[^/]/.test(text) && !this.#contains(resolvePath(text)?.real ?? ''))
      return 'PATH_UNC'
    const slashed = text.replaceAll('\\', '/')
    if (path.isAbsolute(slashed)) return this.#judgeAbsolute(slashed)
    return climbs(slashed) ? this.#judgeClimbing(slashed) : this.#judgeRelative(slashed)
  }

  #judgeUrl(text: string): FileDenialCode | undefined {
    if (!/^file:\//i.test(text)) {
      const rest = text.slice('file:'.length)
      return climbs(rest) || path.isAbsolute(rest) ? this.#judge(rest) : undefined
    }
    if (!URL.canParse(text)) return undefined
    const url = new URL(text)
    if (url.host !== '' && url.host !== 'localhost') return 'PATH_UNC'
    if (/%(?:2f|5c|00|25)/i.test(url.pathname)) return 'PATH_ENCODED'
    let location: string
    try {
      location = fileURLToPath(url)
    } catch {
      return 'PATH_ENCODED'
    }
    const refused = this.#refusal(location, resolvePath(location))
    return refused === 'PATH_OUTSIDE_ROOT' && climbs(decodePercent(text))
      ? 'PATH_TRAVERSAL'
      : refused
  }

  #judgeHomeDirectory(text: string): FileDenialCode | undefined {
    const [, user = '', rest = ''] = /^~([\w.-]*)([\\/].*)?$/.exec(text) ?? [undefined]
    const isForm = rest !== '' || text === '~' || user === 'root' || user === os.userInfo().username
    if (
      !text.startsWith(`~${user}${rest}`) ||
      !isForm ||
      (user === '' && rest === '' && text !== '~')
    )
      return undefined
    const homeDirectory = user === '' ? os.homedir() : path.join(path.dirname(os.homedir()), user)
    const location = resolvePath(path.join(homeDirectory, rest.replaceAll('\\', '/')))
    return location && this.#contains(location.real) ? undefined : 'PATH_HOME'
  }

  /** A route of a web service begins with a slash, too: it has to be on disk, or nearly. */
  #judgeAbsolute(text: string): FileDenialCode | undefined {
    const named = path.resolve(text)
    const names = named.split('/').length - 1
    if (named === path.parse(named).root) return climbs(text) ? 'PATH_TRAVERSAL' : undefined
    const refused = this.#refusal(text, resolvePath(text))
    if (refused !== 'PATH_OUTSIDE_ROOT') return refused
    if (climbs(text) && !/\s/.test(text)) return 'PATH_TRAVERSAL'
    if (statOf(named) !== undefined) return names > 1 ? refused : undefined
    if (/\s/.test(text) || statOf(path.dirname(named)) === undefined || names < 2) return undefined
    return names > 2 || path.extname(named) !== '' ? refused : undefined
  }

  /** Refused when it leads out wherever it starts. */
  #judgeClimbing(text: string): FileDenialCode | undefined {
    const bases = [process.cwd(), ...this.#folders()]
    const locations = bases.map((from) => resolvePath(text, { from }))
    if (locations.some((location) => location !== undefined && this.#contains(location.real)))
      return undefined
    const isText = /\s/.test(text) && locations.every((location) => location?.stats === undefined)
    return isText ? undefined : 'PATH_TRAVERSAL'
  }

  /** A plain name is only refused for what is on disk below a folder. */
  #judgeRelative(text: string): FileDenialCode | undefined {
    const bases = this.#folders()
    const cwd = process.cwd()
    if (this.#contains(cwd)) bases.push(cwd)
    const [first = ''] = text.split('/', 1)
    for (const from of new Set(bases)) {
      if (statOf(path.join(from, first)) === undefined) continue
      const location = resolvePath(text, { from })
      if (location === undefined) return 'PATH_SYMLINK_LOOP'
      if (location.links > 0 && !this.#contains(location.real)) return 'PATH_SYMLINK_ESCAPE'
      if (/[./]/.test(text) && this.#isHardLinked(location)) return 'PATH_HARD_LINK'
    }
    return undefined
  }

  #refusal(text: string, location: ResolvedPath | undefined): FileDenialCode | undefined {
    const named = path.resolve(text)
    const isNamed = this.#lists.some((roots) => roots.name(named))
    if (isDevicePath(named) && !isNamed) return 'PATH_DEVICE'
    if (location === undefined) return 'PATH_SYMLINK_LOOP'
    if (this.#contains(location.real))
      return this.#isHardLinked(location) ? 'PATH_HARD_LINK' : undefined
    return location.links > 0 && isNamed ? 'PATH_SYMLINK_ESCAPE' : 'PATH_OUTSIDE_ROOT'
  }

  #isHardLinked({ real, stats }: ResolvedPath): boolean {
    return stats !== undefined && this.#contains(real) && mayHaveNameOutside(stats, this.#folders())
  }

  #allowsDrive(text: string): boolean {
    return process.platform === 'win32' && this.#contains(resolvePath(text)?.real ?? text)
  }

  #contains(real: string): boolean {
    return this.#lists.some((roots) => roots.contains(real))
  }

  #folders(): string[] {
    return [...new Set(this.#lists.flatMap((roots) => [...roots.folders]))]
  }
}

/** Text of several lines, markup, quoted text, and addresses of anything but files. */
const isNoPath = (text: string): boolean =>
  /[\p{Cc}"<>|*`]|\]\(/u.test(text) ||
  (/^[a-z][a-z\d+.-]+:/i.test(text) &&
    !/^file:|:\$\w+$/i.test(text) &&
    (/^[^:]+:\/\//.test(text) || !climbs(text)))

/** A null byte after something that looks like a path; in other bytes it is nothing special. */
const cutsPath = (text: string): boolean =>
  /^[^\p{Cc}\s\ufffd]*[\\/.][^\p{Cc}\s\ufffd]*\0(?:\0|[^\p{Cc}\ufffd])*$/u.test(text)
