import { strengthOf } from '@retake/tape/secrets'

/** Returns what may be shown in place of a value. */
type Hide = (name: string, value: string) => string

/** Options without a telling name, by the program that has them. */
const PROGRAMS: readonly {
  readonly program: RegExp
  /** The value follows as the next argument. */
  readonly next?: RegExp
  /** The value follows in the same argument. */
  readonly joined?: RegExp
  /** The value is `user:password`, in the next or the same argument. */
  readonly pair?: RegExp
}[] = [
  {
    program: /^(?:curl|wget|http|https|xh)$/,
    pair: /^(?:-u|-U|-a|--user|--proxy-user|--auth)(?==|$)|^-u(?=[^-\s]+:)/,
  },
  {
    program: /^(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|mycli)$/,
    joined: /^-p(?=.)/,
  },
  {
    program: /^(?:sshpass|docker|podman|mongosh|mongo|mongodump|htpasswd|sqlcmd|az|svn)$/,
    next: /^-[pP]$/,
    joined: /^-p(?=[^\d/])/,
  },
  { program: /^sqlcmd$/, joined: /^-P(?=.)/ },
  { program: /^(?:redis-cli|ldapsearch|ldapmodify|snmpwalk)$/, next: /^-[awA]$/ },
  { program: /^openssl$/, joined: /^pass:/ },
  { program: /^smbclient$/, pair: /^-U$/ },
  // `user:password`; two numbers are ids.
  { program: /^/, pair: /^(?:-u|--user)(?==|$)/ },
]

/** Command lines in command lines, such as `sh -c 'ssh host "curl …"'`. */
const DEPTH_MAX = 4

/** Arguments of a program, without secrets. Also looks into a command line that is one argument. */
export function maskedArguments(
  file: string,
  given: readonly string[],
  hide: Hide,
  depth = 0,
): string[] {
  const program = PROGRAMS.filter((each) => each.program.test(nameOf(file)))
  const masked: string[] = []
  for (const [at, argument] of given.entries()) {
    const before = given[at - 1] ?? ''
    masked.push(
      afterName(before, argument, hide) ??
        ofProgram(program, before, argument, hide) ??
        withName(argument, hide) ??
        (argument.includes(' ') && depth < DEPTH_MAX
          ? inCommandLine(argument, hide, depth + 1)
          : argument),
    )
  }
  return masked
}

const nameOf = (file: string): string => file.replace(/^.*[\\/]/, '').replace(/\.exe$/i, '')

/** `--password`, `X` */
function afterName(before: string, value: string, hide: Hide): string | undefined {
  const name = /^--?([A-Za-z][\w.-]+)$/.exec(before)?.[1]
  return name === undefined || strengthOf(name) === 'none' || mayBeFlag(name, value)
    ? undefined
    : hide(name, value)
}

/** An option, a file or a word after `--no-password` and the like is not a value. */
const mayBeFlag = (name: string, value: string): boolean =>
  value.startsWith('-') ||
  /^(?:no|ask|prompt|with|use)-/i.test(name) ||
  /-(?:stdin|file|env)$/i.test(name)

/** `--password=X`, `PASSWORD=X` */
function withName(argument: string, hide: Hide): string | undefined {
  const [, head = '', name = '', value = ''] =
    /^((?:--?)?([A-Za-z_][\w.-]*)=)(.+)$/s.exec(argument) ?? []
  return head === '' || strengthOf(name) === 'none' || strengthOf(name) === 'code'
    ? undefined
    : head + hide(name, value)
}

function ofProgram(
  programs: typeof PROGRAMS,
  before: string,
  argument: string,
  hide: Hide,
): string | undefined {
  for (const { next, joined, pair } of programs) {
    const [head] = joined?.exec(argument) ?? []
    if (head !== undefined) return head + hide('password', argument.slice(head.length))
    if (next?.test(before) === true && !/^-|^[\d.:]+(?:\/\w+)?$/.test(argument))
      return hide('password', argument)
    const isNext = pair?.exec(before)?.[0] === before
    const [same] = isNext ? [''] : (pair?.exec(argument) ?? [])
    if (same === undefined || same === argument) continue
    const [, user = '', password = ''] =
      /^(=?[^:%]*[:%])(.+)$/s.exec(argument.slice(same.length)) ?? []
    if (password !== '' && !/^(?:\/\/|\d+$)/.test(password))
      return same + user + hide('password', password)
  }
  return undefined
}

/** `sh -c 'curl -u ann:X …'` */
function inCommandLine(line: string, hide: Hide, depth: number): string {
  let masked = ''
  let from = 0
  const words = [
    ...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|[^\s;|&()"']+(?:"[^"]*"|'[^']*')?|[;|&()]+/g),
  ]
  let command: string | undefined
  let before = ''
  for (const { 0: raw, 1: double, 2: single, index } of words) {
    if (/^[;|&()]+$/.test(raw)) {
      command = undefined
      before = ''
      continue
    }
    const word = double ?? single ?? raw
    const [shown = word] = maskedArguments(command ?? '', [before, word], hide, depth).slice(1)
    if (shown !== word) {
      masked += line.slice(from, index) + raw.replace(word, () => shown)
      from = index + raw.length
    }
    if (
      command === undefined &&
      !/^\w+=/.test(word) &&
      !/^(?:sudo|env|exec|time|nohup)$/.test(word)
    )
      command = word
    before = word
  }
  return masked + line.slice(from)
}
