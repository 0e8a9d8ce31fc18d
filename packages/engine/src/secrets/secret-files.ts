import path from 'node:path'
import { parseJson } from '@retake/tape/format'
import { isWordsAndNumber, strengthOf } from '@retake/tape/secrets'
import { containsSecret, looksRandom } from './secret-values.js'

export interface FileSecret {
  readonly name: string
  readonly value: string
  /** The text around a value that is too short to be hidden everywhere. */
  readonly context?: string
}

/** True for files whose secrets are hidden when they are read or written, by their names. */
export const isSecretFile = (file: string): boolean => readerFor(file) !== undefined

/** The secrets in such a file; none in any other file. */
export function secretsOfFile(file: string, text: string): readonly FileSecret[] {
  return readerFor(file)?.(text) ?? []
}

type Reader = (text: string) => readonly FileSecret[]

function readerFor(file: string): Reader | undefined {
  const name = path.basename(file)
  const folder = path.basename(path.dirname(file))
  return READERS.find(
    (each) => each.name.test(name) && (each.folder === undefined || each.folder.test(folder)),
  )?.read
}

/** `NAME=value` of a `.env` file: all under a secret name, and all that look generated or chosen. */
export function secretsOfEnvFile(text: string): FileSecret[] {
  const found: FileSecret[] = []
  const lines =
    /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|`([^`]*)`|([^\n\r#]*))/gm
  for (const { 0: line, 1: name = '', 2: double, 3: single, 4: back, 5: plain } of text.matchAll(
    lines,
  )) {
    const value = double ?? single ?? back ?? plain?.trim() ?? ''
    const isSecret =
      containsSecret(name, value) ||
      looksGeneratedInFile(name, value) ||
      looksChosenInFile(name, value)
    if (value === '' || !isSecret) continue
    found.push(secretOf(name, value, line.trim()))
  }
  return found
}

/** Names of values that look generated and are not secret. */
const PUBLIC_NAME =
  /(?:^|_)(?:public|publishable|sha\d*|hash|digest|checksum|commit|revision|rev|ref|version|build|uuid|id|url|uri|host|endpoint|region|zone|model|image|tag|bucket|path|dir|file|date|time|locale|lang|tz)$|^(?:NEXT_PUBLIC|VITE|REACT_APP|PUBLIC|EXPO_PUBLIC|npm)_/i

/**
 * One word of at least ten characters that mixes letters and digits as no name, host, version or
 * date does. Shorter than in the environment of a process, because a `.env` file has only what
 * somebody wrote into it.
 */
function looksGeneratedInFile(name: string, value: string): boolean {
  if (PUBLIC_NAME.test(name)) return false
  if (looksRandom(value)) return true
  if (value.length < 10 || !/^[\w!@#$%^&*+=~.-]+$/.test(value)) return false
  if (/^\d[\d.:_-]*[A-Za-z]{0,3}$|^\d{4}-\d\d|^v?\d+\.\d+|\.[a-z]{2,6}$/.test(value)) return false
  const longest =
    (value.match(/[A-Za-z\d]+/g) ?? []).toSorted((a, b) => b.length - a.length)[0] ?? ''
  let changes = 0
  for (let at = 1; at < longest.length; at += 1)
    if (kindOf(longest[at]) !== kindOf(longest[at - 1])) changes += 1
  return longest.length >= 8 && /\d/.test(longest) && /[A-Za-z]/.test(longest) && changes >= 3
}

/**
 * A password of words and a number, unless its name or number says that it names something: a
 * server, a database, a version.
 */
const looksChosenInFile = (name: string, value: string): boolean =>
  isWordsAndNumber(value) &&
  !PUBLIC_NAME.test(name) &&
  !NAME_OF_SOMETHING.test(name) &&
  !NUMBERED.test(value)

const NAME_OF_SOMETHING =
  /(?:^|_)(?:\w*name|user|login|account|owner|org|organization|company|brand|project|team|tenant|workspace|namespace|cluster|server|node|peer|db|database|schema|table|collection|index|queue|topic|channel|stream|group|role|app|application|service|package|env|environment|stage|profile|label|slug|title|domain|device|driver|dialect|provider|vendor|engine|runtime|platform|os|arch|browser|format|algorithm|font|theme|prefix|suffix)$/i
/** `webserver01`, and the versions of programs. */
const NUMBERED =
  /[a-z]0\d$|^(?:ubuntu|debian|windows|postgres|mysql|mongo|elasticsearch|python|node|java|php|ruby|android|chrome|firefox|safari)/i

const kindOf = (character = ''): string =>
  /\d/.test(character) ? 'digit' : /[A-Z]/.test(character) ? 'upper' : 'lower'

function secretOf(name: string, value: string, line: string): FileSecret {
  return value.length >= 8 ? { name, value } : { name, value, context: line }
}

/** `name = value` and `name: value`, in sections or not. */
function secretsOfSettings(text: string): FileSecret[] {
  const lines =
    /^[ \t]*["']?(?:\/\/[^\s=]*:)?([\w.-]{2,64})["']?[ \t]*[=:][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#;]+))/gm
  return [...text.matchAll(lines)].flatMap(
    ({ 0: line, 1: name = '', 2: double, 3: single, 4: plain }) => {
      const value = double ?? single ?? plain ?? ''
      const isSecret =
        strengthOf(name) !== 'none' || SETTING.test(name) || containsSecret(name, value)
      if (!isSecret || value.length < 3 || /^(?:true|false|\$\{)/.test(value)) return []
      return [secretOf(name.replace(/^_/, ''), value, line.trim())]
    },
  )
}

const SETTING =
  /^_?(?:auth|authToken|password|pass|oauth_token|token|access_key|secret_key|aws_access_key_id|client-key-data|client-certificate-data|npmAuthToken|npmAuthIdent|key)$/

/** `machine h login u password X` */
const secretsOfNetrc: Reader = (text) =>
  [...text.matchAll(/\b(?:password|passwd)\s+("?)(\S+)\1/g)].map(({ 0: line, 2: value = '' }) =>
    secretOf('netrc-password', value, line),
  )

/** `host:port:database:user:password`, with `\:` for a colon. */
const secretsOfPgpass: Reader = (text) =>
  text.split(/\r?\n/).flatMap((line) => {
    const [, , , , password] = line.match(/(?:[^:\\]|\\.)+/g) ?? []
    if (line.startsWith('#') || password === undefined) return []
    const value = password.replaceAll(/\\(.)/g, '$1')
    return [
      secretOf('pgpass', value, line),
      ...(value === password ? [] : [secretOf('pgpass', password, line)]),
    ]
  })

const secretsOfAddresses: Reader = (text) =>
  [...text.matchAll(/:\/\/[^:@\s/]*:([^@\s/]+)@/g)].flatMap(({ 0: line, 1: value = '' }) => [
    secretOf('git-credentials', value, line),
  ])

const secretsOfHtpasswd: Reader = (text) =>
  [...text.matchAll(/^([^:\s#]+):(\S+)$/gm)].map(({ 0: line, 2: value = '' }) =>
    secretOf('htpasswd', value, line),
  )

/** `auth` is base64 of `user:password`. */
const secretsOfDocker: Reader = (text) =>
  [
    ...text.matchAll(/"(auth|password|identitytoken|registrytoken|secret)"\s*:\s*"([^"]+)"/g),
  ].flatMap(({ 0: line, 1: name = '', 2: value = '' }) => {
    const [, password = ''] =
      /^[^:]*:(.+)$/s.exec(name === 'auth' ? Buffer.from(value, 'base64').toString() : '') ?? []
    return [
      secretOf(`docker-${name}`, value, line),
      ...(password.length >= 8 ? [{ name: 'docker-password', value: password }] : []),
    ]
  })

/** Texts whose names look secret, or are names of headers with a key. The file may contain comments. */
function secretsOfJsonFile(text: string): FileSecret[] {
  const found: FileSecret[] = []
  for (const [, name = '', value = ''] of text.matchAll(/"([^"\\]+)"\s*:\s*"((?:[^"\\]|\\.)+)"/g)) {
    if (
      !(containsSecret(name, value) && !/_(?:uri|url|id)$/i.test(name)) &&
      !/^authorization$/i.test(name)
    )
      continue
    const plain = parseJson(`"${value}"`)
    found.push({
      name,
      value: (typeof plain === 'string' ? plain : value).replace(/^(bearer|basic|token)\s+/i, ''),
    })
  }
  return found
}

const READERS: readonly {
  readonly name: RegExp
  readonly folder?: RegExp
  readonly read: Reader
}[] = [
  { name: /^\.env(?:\..+)?$|\.env$|^\.envrc$|^\.dev\.vars$/, read: secretsOfEnvFile },
  // MCP servers, with their environments and headers.
  {
    name: /^(?:.*\.)?mcp(?:[-_.].*)?\.json$|^claude_desktop_config\.json$/i,
    read: secretsOfJsonFile,
  },
  { name: /^[._]netrc$/, read: secretsOfNetrc },
  { name: /^\.?pgpass(?:\.conf)?$/, read: secretsOfPgpass },
  { name: /^\.?git-credentials$/, read: secretsOfAddresses },
  { name: /^\.htpasswd$/, read: secretsOfHtpasswd },
  { name: /^\.vault-token$/, read: (text) => [{ name: 'vault-token', value: text.trim() }] },
  { name: /^config\.json$/, folder: /^\.docker$/, read: secretsOfDocker },
  { name: /^\.dockercfg$|^\.dockerconfigjson$/, read: secretsOfDocker },
  {
    name: /^(?:application_default_credentials|credentials\.tfrc|auth|credentials|client_secret.*|service[-_]?account.*|secrets?)\.json$/i,
    read: secretsOfJsonFile,
  },
  {
    name: /^(?:credentials|config)(?:\.toml)?$/,
    folder: /^\.(?:aws|kube|cargo|gem|oci|databricks)$/,
    read: secretsOfSettings,
  },
  {
    name: /^(?:\.npmrc|npmrc|\.yarnrc(?:\.yml)?|\.?my\.cnf|\.mylogin\.cnf|\.pypirc|\.s3cfg|\.boto|rclone\.conf|credentials|kubeconfig|.*\.tfvars|secrets?\.(?:ya?ml|toml|ini)|\.databrickscfg|\.snowsql|hosts\.yml)$/,
    read: secretsOfSettings,
  },
]
