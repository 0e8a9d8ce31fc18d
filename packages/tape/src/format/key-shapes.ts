/**
 * Shapes of credentials that can be recognised by their text alone. The first group of each stays,
 * the second is hidden; a prefix that is only matched by a lookbehind also stays.
 *
 * Digests, UUIDs, message ids, git hashes and base64 data match none of them.
 */
const TOKENS = {
  // OpenAI, Anthropic, OpenRouter and others: an unbroken run of letters and digits that includes a
  // digit.
  sk: String.raw`(-)(?<=(?<![A-Za-z0-9])sk-)((?=[\w-]*[A-Za-z0-9]{16})(?=[\w-]*\d)[\w-]{16,})`,
  stripe: String.raw`(_)(?<=(?<![A-Za-z0-9])[sr]k_(?:live|test)_)([A-Za-z0-9]{10,})`,
  prefixed: String.raw`([-_])(?<=(?<![A-Za-z0-9])(?:gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|whsec_|GOCSPX-|pypi-|lin_api_|dop_v1_|shpat_))([A-Za-z0-9][\w-]{15,})`,
  // Words such as `npm_config_…` are names, not tokens.
  unbroken: String.raw`(_)(?<=(?<![A-Za-z0-9])(?:hf|npm|gsk|r8)_)([A-Za-z0-9]{30,})`,
  aws: String.raw`(A(?:KIA|SIA))(?<![A-Za-z0-9]A.IA)([A-Z0-9]{16})(?![A-Za-z0-9])`,
  google: String.raw`(AIza)(?<![A-Za-z0-9]AIza)([\w-]{35})(?![\w-])`,
  googleAccess: String.raw`(\.)(?<=(?<![A-Za-z0-9])ya29\.)([\w-]{20,})`,
  // Header and claims stay readable for programs that decode them: without its signature a JWT is
  // useless.
  jwt: String.raw`(\.)(?<=(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)([\w-]{16,})`,
} as const

export const KEY_PREFIXES: readonly string[] =
  'sk- sk_live_ sk_test_ rk_live_ rk_test_ ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- whsec_ GOCSPX- pypi- lin_api_ dop_v1_ shpat_ hf_ npm_ gsk_ r8_ AKIA ASIA AIza ya29.'.split(
    ' ',
  )

const URL_PASSWORD = String.raw`(:\/\/[\w.%+~-]{0,64}:)([!#$%&()*+,.;=?\w~^-]{3,128})(?=@[\w.[-])`
const PRIVATE_KEY = String.raw`(-----BEGIN [A-Z ]{0,24}PRIVATE KEY(?: BLOCK)?-----)([^-]{16,16384})(?=-----END )`

const ANY_KEY = new RegExp([...Object.values(TOKENS), URL_PASSWORD, PRIVATE_KEY].join('|'))

/** A global expression that finds keys, for callers that hide them in another way. */
export const keyShapes = (): RegExp => new RegExp(ANY_KEY, 'g')

export const hasKeyShape = (text: string): boolean => text.search(ANY_KEY) >= 0

/**
 * Replaces every key with a placeholder of the same length. Masking twice changes nothing, so a
 * replay can mask its requests like the recording did. Not promised: encoded keys are not found;
 * see `redactText`. Every recorded body passes through here, so each kind of shape has its own fast
 * search; a single expression takes five times as long.
 */
export function maskKeys(text: string): string {
  return text.length < SHORTEST_KEY ? text : maskPhrases(maskTokens(text))
}

/** Shapes of more than one word: passwords in URLs, and private keys. */
export function maskPhrases(text: string): string {
  let masked = text
  if (masked.includes('@') && masked.includes('://')) masked = masked.replaceAll(PASSWORDS, hidden)
  if (masked.includes('PRIVATE KEY')) masked = masked.replaceAll(PRIVATE_KEYS, hidden)
  return masked
}

const HIDDEN = 'retake-hidden'
const SHORTEST_KEY = 10
const PASSWORDS = new RegExp(URL_PASSWORD, 'g')
const PRIVATE_KEYS = new RegExp(PRIVATE_KEY, 'g')
const TOKEN_HERE = new RegExp(Object.values(TOKENS).join('|'), 'y')
/** Every token has this many letters, digits, dashes and underscores in a row; words rarely do. */
const RUN = 16

function maskTokens(text: string): string {
  let masked = ''
  let from = 0
  for (let run = findRun(text, 0); run !== undefined; run = findRun(text, run.end)) {
    // Base64 and digests are one word each: a token can only begin at their start.
    const last = run.isOneWord ? run.start + 1 : run.end
    for (let at = Math.max(from, run.start - 1); at < last; at += 1) {
      if (!mayBegin(text, at)) continue
      TOKEN_HERE.lastIndex = at
      const found = TOKEN_HERE.exec(text)
      if (found === null) continue
      masked += text.slice(from, at) + hidden(found[0], ...found.slice(1))
      from = at + found[0].length
      at = from - 1
    }
  }
  return from === 0 ? text : masked + text.slice(from)
}

interface Run {
  readonly start: number
  readonly end: number
  /** True if the run has no dash or underscore. */
  readonly isOneWord: boolean
}

/** The next long run at or after `from`. Looks at one character in `RUN` while words are short. */
function findRun(text: string, from: number): Run | undefined {
  const { length } = text
  for (let at = from + RUN - 1; at < length;) {
    if (!isWord(text.charCodeAt(at))) {
      at += RUN
      continue
    }
    let start = at
    while (start > from && isWord(text.charCodeAt(start - 1))) start -= 1
    if (at - start < RUN - 1) {
      at = start + RUN - 1
      continue
    }
    let end = start
    let joints = 0
    for (; end < length; end += 1) {
      const code = text.charCodeAt(end)
      if (!isWord(code)) break
      if (code === DASH || code === UNDERSCORE) joints += 1
    }
    return { start, end, isOneWord: joints === 0 }
  }
  return undefined
}

const WORD = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\w-]/.test(String.fromCharCode(code)) ? 1 : 0,
)
const isWord = (code: number): boolean => code < 128 && WORD[code] === 1

const DASH = 45
const DOT = 46
const UPPER_A = 65
const UNDERSCORE = 95

/** The last two letters before the dash or underscore of a prefix. */
const PREFIX_ENDS = new Set(
  KEY_PREFIXES.filter((prefix) => /[-_]$/.test(prefix)).map((prefix) =>
    lettersBefore(prefix, prefix.length - 1),
  ),
)

/** As a number, because cutting two letters out of a text takes ten times as long. */
function lettersBefore(text: string, at: number): number {
  return (text.charCodeAt(at - 2) << 16) | text.charCodeAt(at - 1)
}

/** False if no token can begin here; one to three characters decide. */
function mayBegin(text: string, at: number): boolean {
  switch (text.charCodeAt(at)) {
    case DASH:
    case UNDERSCORE:
      return at >= 2 && PREFIX_ENDS.has(lettersBefore(text, at))
    case UPPER_A:
      return text.startsWith('IA', at + 2) || text.startsWith('Iza', at + 1)
    case DOT:
      return true
    default:
      return false
  }
}

/** Replacement for a match, whose groups come in pairs: text that stays and text to hide. */
function hidden(found: string, ...groups: readonly unknown[]): string {
  for (const [index, kept] of groups.entries()) {
    const secret = groups[index + 1]
    if (typeof kept === 'string' && typeof secret === 'string')
      return kept + placeholderOf(kept, secret)
  }
  return found
}

function placeholderOf(kept: string, secret: string): string {
  // The lines of a key file stay, even if JSON has escaped them.
  if (kept.startsWith('-----'))
    return secret.replaceAll(/\\[nr]|[A-Za-z0-9+/=]/g, (part) => (part.length === 2 ? part : 'x'))
  // A secret that is known by name already has its own placeholder.
  if (secret.startsWith(HIDDEN)) return secret
  return HIDDEN.slice(0, secret.length).padEnd(secret.length, 'x')
}
