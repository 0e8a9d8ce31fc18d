import { overlayOf } from '../../overlay/overlay.js'
import { noteBoundary } from '../patching/note-boundary.js'
import { encodeBody, attempt } from '@retake/tape/format'
import { disk } from '../../overlay/disk.js'
import { absolute } from '../../overlay/overlay-call.js'
import { outsideRuns } from '../../kernel/scope.js'
import { isSecretFile } from '../../secrets/secret-files.js'
import type { Session } from '../../kernel/session.js'
import type { CapturedCall, CapturedOutcome, Encoded } from '../patching/captured-call.js'
import { encodeData, encodingOf, isPathOrDescriptor, type FileShape } from './file-functions.js'
import { trackServedCall } from './served-call.js'
import { descriptorsOf } from './tape-descriptors.js'

/**
 * A call of the function `name`, recorded as `label`, with its paths as the title and the rest as
 * the input. Registers the secrets of a `.env` file that it touches before anything is written to
 * the tape.
 */
export function fileCall(
  session: Session,
  label: string,
  name: string,
  args: readonly unknown[],
  { inputs, form }: FileShape,
): CapturedCall {
  const paths = args.filter((_, index) => isPathOrDescriptor(inputs[index]))
  const rest = args.filter((_, index) => !isPathOrDescriptor(inputs[index]))
  const names = paths.map((path) => {
    if (typeof path === 'number') return nameDescriptor(session, path)
    if (Array.isArray(path)) return path.map(pathArgumentText).join(', ')
    return pathArgumentText(path)
  })
  if (rest.some(hasFunction)) {
    noteBoundary(session, {
      name: label,
      text: 'what a function in its options does is not captured',
      consequence: 'not-called',
    })
  }
  if (name === 'open') descriptorsOf(session).opening(args)
  const served = (outcome: CapturedOutcome): void => trackServedCall(session, name, args, outcome)
  const title = names.join(' → ')
  if (inputs[1] !== 'data') {
    learnSecrets(session, names)
    const again = (): unknown => readAgain(session, name, args)
    return { kind: 'file', name: label, title, input: encodeOptions(rest), form, served, again }
  }
  const [data, ...options] = rest
  const input = encodeData(data, encodingOf(options[0]))
  learnSecrets(session, names, input.body)
  return { kind: 'file', name: label, title: title + describeOptions(options), input, form, served }
}

/** Repeats a call that reads a whole file on the current disk. */
function readAgain(
  session: Session,
  name: string,
  [filePath, options]: readonly unknown[],
): unknown {
  if (name !== 'readFile' && name !== 'openAsBlob') return undefined
  const opened =
    typeof filePath === 'number' ? descriptorsOf(session).positionOf(filePath) : undefined
  const { path, position } = opened ?? { path: pathArgumentText(filePath), position: 0 }
  const bytes = fileContentOf(session, path)?.subarray(position)
  const { encoding } = (typeof options === 'object' ? (options ?? {}) : { encoding: options }) as {
    encoding?: BufferEncoding | null
  }
  return name === 'readFile' && encoding ? bytes?.toString(encoding) : bytes
}

/** True for the filter of `cp` and the exclusion of `glob`. */
const hasFunction = (option: unknown): boolean =>
  typeof option === 'object' && option !== null && Object.values(option).some(isFunction)
const isFunction = (value: unknown): boolean => typeof value === 'function'

export function pathArgumentText(path: unknown): string {
  return path instanceof Uint8Array ? Buffer.from(path).toString() : String(path)
}

/** Options as JSON, without those that cannot be compared; empty if none remain. */
export function encodeOptions(options: readonly unknown[]): Encoded {
  const given = options.map(comparable)
  while (given.length > 0 && given.at(-1) === undefined) given.pop()
  return given.length === 0 ? {} : encodeBody(given)
}

/** Describes options of a write after its path, because its content is the body. */
export function describeOptions(options: readonly unknown[]): string {
  const { body } = encodeOptions(options)
  return body === undefined ? '' : ` ${Buffer.from(body).toString()}`
}

function comparable(option: unknown): unknown {
  if (typeof option !== 'object' || option === null || option instanceof Date) return option
  const { signal: _, ...rest } = option as Record<string, unknown>
  const given = Object.entries(rest).filter(
    ([, value]) => value !== undefined && !isFunction(value),
  )
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

/** Descriptors that each run has opened, with the path to show instead of the number while it is open. */
const opened = new WeakMap<Session, Map<number, string | undefined>>()

/** Updates the paths after `open` and `close`, in record and replay. */
export function trackDescriptor(
  session: Session,
  name: string,
  [file]: readonly unknown[],
  value: unknown,
): void {
  if (name === 'close' && wasOpenedIn(session, file as number))
    opened.get(session)?.set(file as number, undefined)
  if (name !== 'open') return
  let paths = opened.get(session)
  if (paths === undefined) opened.set(session, (paths = new Map()))
  paths.set(value as number, pathArgumentText(file))
}

/**
 * True if this run opened the descriptor, even if it has closed it since. The system may have
 * reused the number for another file, such as the tape.
 */
export const wasOpenedIn = (session: Session, fd: number): boolean =>
  opened.get(session)?.has(fd) === true

/** The path with which the descriptor was opened in this run, otherwise `fd 7`. */
export function nameDescriptor(session: Session, fd: number): string {
  return opened.get(session)?.get(fd) ?? `fd ${fd}`
}

/**
 * 1 or 2 if a write to `file` reaches the output of the process, by number or by the name of its
 * device. The output boundary records such writes.
 */
export function outputDescriptor(session: Session, file: unknown): 1 | 2 | undefined {
  if (file === 1 || file === 2) return file
  const path = typeof file === 'number' ? opened.get(session)?.get(file) : file
  return path === '/dev/stdout' ? 1 : path === '/dev/stderr' ? 2 : undefined
}

/**
 * Registers the secrets of files that are known to contain some, such as `.env`, among `paths`
 * before they are read or written, so that they are masked on the tape. While recording, the agent
 * still gets the real content; for replay see `ServedFiles`.
 */
export function learnSecrets(session: Session, paths: readonly string[], data?: Uint8Array): void {
  for (const path of paths) {
    if (!isSecretFile(path)) continue
    const texts = [
      data && Buffer.from(data).toString(),
      session.local === 'tape' ? undefined : read(session, path)?.toString(),
    ]
    for (const text of texts) if (text !== undefined) session.secrets.learnFile(path, text)
  }
}

/** Current content of a file, for a run served from a tape. Registers its secrets. */
export function fileContentOf(session: Session, path: string): Buffer | undefined {
  const content = read(session, path)
  if (content !== undefined) learnSecrets(session, [path], content)
  return content
}

/** Undefined if the file does not exist, or if reading would consume it, as with a pipe. */
function read(session: Session, path: string): Buffer | undefined {
  const overlay = overlayOf(session)
  return attempt(() => {
    const filePath = absolute(path.startsWith('file:') ? new URL(path) : path)
    return outsideRuns(() => {
      const at = overlay?.locate(overlay.resolve(filePath)).at ?? filePath
      return disk.statSync(at).isFile() ? disk.readFileSync(at) : undefined
    })
  })
}
