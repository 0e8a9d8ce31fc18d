import { clipText } from '@retake/tape/format'
import type { Denial, DenialFields } from './guard-error.js'

/** Why a path is refused, by code. */
const FILE_REASONS = {
  PATH_OUTSIDE_ROOT: 'It is outside of the folders that the policy allows.',
  PATH_TRAVERSAL: 'It leads out of the folders that the policy allows.',
  PATH_SYMLINK_ESCAPE: 'A link in the path leads out of the folders that the policy allows.',
  PATH_SYMLINK_LOOP: 'Its links form a loop.',
  PATH_CHANGED: 'It was replaced while it was being opened.',
  PATH_NULL_BYTE: 'It contains a null byte, and the system ignores everything after it.',
  PATH_DEVICE: 'It is a device or belongs to a process; it is not a regular file.',
  PATH_UNC: 'It names another machine.',
  PATH_STREAM: 'It names an alternate data stream of a file.',
  PATH_TRAILING:
    'Windows ignores dots and spaces at the end of a path, so this one may lead out of the allowed folders.',
  PATH_CHDIR: 'Every relative path in the program would point somewhere else.',
  PATH_UNSEEN: 'Retake cannot check which files this uses.',
  READ_NOT_ALLOWED: 'The policy does not allow reading this path.',
  WRITE_NOT_ALLOWED: 'The policy does not allow writing to this path.',
} as const

export type FileDenialCode = keyof typeof FILE_REASONS

const FILE_ATTEMPTS = {
  look: 'to look at',
  read: 'to read',
  write: 'to write',
  enter: 'to change the working directory to',
  unseen: 'to use',
  changed: 'to open',
}

interface FileFields {
  readonly path: string
  readonly access: keyof typeof FILE_ATTEMPTS
  /** Path of the argument that contains it; missing if the tool itself used it. */
  readonly argument?: string
}

/** `roots` are the folders that the policy allows for this access. */
export function fileDenial(
  policy: string,
  code: FileDenialCode,
  { path, access, argument }: FileFields,
  roots: readonly string[],
): Denial {
  const shown = JSON.stringify(clipText(path, 200))
  const done = access === 'write' ? 'written' : access === 'read' ? 'read' : 'used'
  const listed =
    roots.length === 0
      ? `Nothing may be ${done}. List a folder in files.${access === 'write' ? 'write' : 'read'} of the policy.`
      : `Files below ${roots.join(', ')} may be ${done}.`
  return {
    code,
    rule: `${policy}/files`,
    what:
      argument === undefined
        ? `The tool tried ${FILE_ATTEMPTS[access]} ${shown}.`
        : `The argument${argument === '' ? '' : ` "${argument}"`} contains the path ${shown}.`,
    why: FILE_REASONS[code],
    allowed:
      access === 'enter' ? 'Use absolute paths.' : access === 'unseen' ? 'Use node:fs.' : listed,
    fields: { path: clipText(path, 200) },
  }
}

/**
 * Converts a table of texts by code to a table of functions that create denials. They get the rule,
 * the values that the denial records, and the alternative that the scope allows.
 */
function scopeTable<
  Table extends Readonly<
    Record<string, (fields: never, allowed: string) => readonly [string, string, string]>
  >,
>(
  table: Table,
): {
  readonly [Code in keyof Table]: (
    rule: string,
    ...values: Parameters<Table[Code]> extends readonly []
      ? []
      : [fields: Parameters<Table[Code]>[0], allowed?: string]
  ) => Denial
} {
  const factories = Object.entries(table).map(([code, text]) => [
    code,
    (rule: string, fields: DenialFields = {}, otherwise = ''): Denial => {
      const [what, why, allowed] = text(fields as never, otherwise)
      return { code, rule, what, why, allowed, fields }
    },
  ])
  return Object.fromEntries(factories) as ReturnType<typeof scopeTable<Table>>
}

/** `target` is a host, `host at address` or an address. */
interface TargetFields {
  readonly target: string
}

interface AddressFields extends TargetFields {
  /** Entry of the network scope that would allow it, and the list for it. */
  readonly entry: string
  readonly list: 'addresses' | 'allow'
}

export const networkDenials = scopeTable({
  HOST_INVALID: ({ host }: { readonly host: string }, allowed) => [
    `The tool tried to connect to ${JSON.stringify(host)}.`,
    'It is not a valid host name.',
    allowed,
  ],
  HOST_NOT_ALLOWED: ({ target }: TargetFields, allowed) => [
    `The tool tried to connect to ${target}.`,
    'The host is not on the allow list.',
    allowed,
  ],
  LOOKUP_NOT_ALLOWED: ({ host }: { readonly host: string }, allowed) => [
    `The tool tried to resolve ${host}.`,
    'A DNS lookup reveals the name to others, and the host is not on the allow list.',
    allowed,
  ],
  ADDRESS_PRIVATE: (
    { target, entry, kind }: AddressFields & { readonly kind: string },
    allowed,
  ) => [
    `The tool tried to connect to ${target}.`,
    `It is not a public address (${kind}).`,
    `${allowed} To allow it, list \`${entry}\` in \`addresses\` of the network scope.`,
  ],
  ADDRESS_METADATA: ({ target, entry, list }: AddressFields, allowed) => [
    `The tool tried to connect to ${target}.`,
    'Cloud providers serve credentials at this address.',
    `${allowed} To allow it, list \`${entry}\` in \`${list}\` of the network scope.`,
  ],
  METHOD_NOT_ALLOWED: ({ method, target }: TargetFields & { readonly method: string }, allowed) => [
    `The tool tried to send a ${method} request to ${target}.`,
    'The method is not on the allow list.',
    `Allowed methods: ${allowed || 'none'}.`,
  ],
  PROTOCOL_NOT_ALLOWED: ({ protocol, host }: ProtocolFields, allowed) => [
    `The tool tried to use ${protocol} with ${host}.`,
    'Tools may use HTTP and WebSocket only.',
    allowed,
  ],
  PROTOCOL_WITHOUT_METHOD: ({ protocol, host }: ProtocolFields, allowed) => [
    `The tool tried to use ${protocol} with ${host}.`,
    'Only HTTP requests can be checked for their method.',
    `HTTP with ${allowed || 'no method'} is allowed.`,
  ],
  SOCKET_NOT_ALLOWED: ({ target }: TargetFields, allowed) => [
    `The tool tried to connect to ${target} without HTTP.`,
    'Only some HTTP methods are allowed, and other protocols cannot be checked for that.',
    `HTTP with ${allowed || 'no method'} is allowed.`,
  ],
  LOCAL_SOCKET_NOT_ALLOWED: ({ path }: { readonly path: string }) => [
    `The tool tried to connect to the local socket ${path}.`,
    'Local sockets lead to services on this machine.',
    `To allow it, list \`unix:${path}\` in \`addresses\` of the network scope.`,
  ],
  LISTEN_NOT_ALLOWED: () => [
    'The tool tried to listen for connections.',
    'A tool with a network scope may open connections, but not accept them.',
    'Start servers outside of the tool.',
  ],
  REQUEST_FRAMING: ({
    problem,
    host,
  }: {
    readonly problem: keyof typeof FRAMING_REASONS
    readonly host: string
  }) => [
    `The tool tried to send bytes${host && ` to ${host}`} that are not exactly one HTTP request.`,
    FRAMING_REASONS[problem],
    'Give a body the header `content-length` with its length in bytes, or `transfer-encoding: chunked`.',
  ],
})

/** The denial of a request that follows a redirect. */
export const redirectDenial = (denial: Denial, from: string): Denial => ({
  ...denial,
  code: denial.code.startsWith('ADDRESS_') ? denial.code : 'REDIRECT_NOT_ALLOWED',
  what: `${denial.what} ${from} redirects there.`,
  fields: { ...denial.fields, from },
})

interface ProtocolFields {
  readonly protocol: string
  readonly host: string
}

const FRAMING_REASONS = {
  beyond:
    'They follow a request that has ended by its headers. A server would read them as another request.',
  within:
    'The request before them is shorter than its headers say. A server would read the beginning as its body.',
  length:
    'Their headers leave open where the body ends: a length is not a number, or there are several lengths or encodings. Servers would find the end at different places.',
  syntax:
    'Their request line, a header or a chunk is not valid HTTP/1.1. Servers would read it in different ways.',
}

interface CommandFields {
  readonly command: string
  /** A sentence without a full stop. */
  readonly reason: string
}

export const shellDenials = scopeTable({
  SHELL_NOT_ALLOWED: ({ command, reason }: CommandFields, allowed) => [
    `A program was not started: ${command}.`,
    `${reason}.`,
    allowed,
  ],
  WORKER_NOT_ALLOWED: ({ command, reason }: CommandFields, allowed) => [
    `A worker was not started: ${command}.`,
    `${reason}.`,
    allowed,
  ],
  NATIVE_ADDON: ({ command, reason }: CommandFields, allowed) => [
    `A native add-on was not loaded: ${command}.`,
    `${reason}.`,
    allowed,
  ],
  SIGNAL_NOT_ALLOWED: ({ command, reason }: CommandFields, allowed) => [
    `A signal was not sent: ${command}.`,
    `${reason}.`,
    allowed,
  ],
  SHELL_STRING: ({ command }: { readonly command: string }, allowed) => [
    `A shell was not started: ${command}.`,
    'A shell string can contain any command, so it must be listed verbatim.',
    `Start a program with its arguments: execFile(program, [arguments]). ${allowed}`,
  ],
  SHELL_NO_SANDBOX: ({
    command,
    missing,
  }: {
    readonly command: string
    readonly missing: string
  }) => [
    `A program was not started: ${command}.`,
    `A program whose arguments are not listed verbatim needs a sandbox, and ${missing}.`,
    'Install bubblewrap, or list these arguments without patterns.',
  ],
  SHELL_ENVIRONMENT: (
    { command, how }: { readonly command: string; readonly how: string },
    allowed,
  ) => [
    `A program was not started: ${command}, ${how}.`,
    'Variables such as PATH, LD_PRELOAD or NODE_OPTIONS, and another user, change what a program does.',
    `Pass variables as they were when the guard was created. Variables that may differ are those in shell.env: ${allowed || 'none'}.`,
  ],
  SHELL_SCOPE_INVALID: ({
    vector,
    mistake,
  }: {
    readonly vector: string
    readonly mistake: string
  }) => [
    `The argument vector ${JSON.stringify(vector)} cannot be used: ${mistake}.`,
    'A vector names one program, then its arguments; only arguments may be patterns.',
    "Name the program: ['wc', '-l', '**'].",
  ],
})

/** Denials of tools that touch the process they run in. */
export const processDenials = scopeTable({
  DESCRIPTOR_NOT_ALLOWED: ({ tool, fd }: { readonly tool: string; readonly fd: number }) => [
    `Tool "${tool}" tried to use or pass on descriptor ${fd} of this process.`,
    'The call has not opened it, so it may be an open file or connection of others.',
    "Open the file in the tool, or use 'pipe'.",
  ],
  PROCESS_EXIT: ({ tool, how }: { readonly tool: string; readonly how: string }) => [
    `Tool "${tool}" tried to end the process it runs in (${how}).`,
    'A tool may end its own call, but never the program.',
    'Throw an error instead.',
  ],
  PROCESS_SIGNAL: ({ tool, signal }: { readonly tool: string; readonly signal: string }) => [
    `Tool "${tool}" tried to signal the process it runs in (${signal}).`,
    'A tool may end its own call, but never the program.',
    'Throw an error instead.',
  ],
})
