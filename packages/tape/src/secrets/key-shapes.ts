/**
 * Shapes of credentials that can be recognised by their text alone, as their issuers publish them.
 * Digits, UUIDs, message ids, git hashes and base64 data match none of them.
 */
interface KeyShape {
  /** Text before the hidden part. It stays, because programs and people recognise a key by it. */
  readonly prefixes: readonly string[]
  /** The hidden part, as a regular expression. */
  readonly secret: string
  /** Must match before the prefix; default: anything but a letter or digit. */
  readonly after?: string
}

const words = (text: string): string[] => text.trim().split(/\s+/)
/** Letters, digits, dashes and underscores, beginning with a letter or digit. */
const mixed = (least: number): string => String.raw`[A-Za-z0-9][\w-]{${least - 1},}`
/** The same with a digit, so that a name made of words is not a key. */
const withDigit = (least: number): string => String.raw`(?=[\w-]*\d)[A-Za-z0-9][\w-]{${least - 1},}`
const letters = (least: number): string => `[A-Za-z0-9]{${least},}`
const hex = (least: number): string => `[0-9A-Fa-f]{${least},}`
const END = String.raw`(?![\w-])`

/** One row for each kind of key. The searches below, in text and in base64, are made from it. */
const KEY_SHAPES: readonly KeyShape[] = [
  // OpenAI, Anthropic, OpenRouter, Langfuse and others: an unbroken run of letters and digits that
  // includes a digit.
  {
    prefixes: ['sk-'],
    secret: String.raw`(?=[\w-]*[A-Za-z0-9]{16})(?=[\w-]*\d)[\w-]{16,}`,
  },
  // Other model providers and agent tools: Cerebras, xAI, Groq, Hugging Face, Replicate, Perplexity,
  // NVIDIA, Tavily, Jina, E2B, Firecrawl, Pinecone, LangSmith, Browserbase, Amazon Bedrock.
  { prefixes: words('csk- xai- pplx- jina_'), secret: letters(30) },
  { prefixes: words('nvapi- tvly- pcsk_ bb_live_ bb_test_'), secret: withDigit(20) },
  { prefixes: words('fc- e2b_'), secret: hex(32) },
  { prefixes: words('lsv2_pt_ lsv2_sk_'), secret: '[0-9a-f]{32}(?:_[0-9a-f]{10})?' },
  { prefixes: words('hf_ api_org_ gsk_ r8_'), secret: letters(30) },
  { prefixes: words('ABSK'), secret: '[A-Za-z0-9+/]{60,}' },
  { prefixes: ['bedrock-api-key-'], secret: '[A-Za-z0-9+/=]{30,}' },
  // Stripe, Paystack, Clerk, Razorpay, Shippo, Duffel, Flutterwave.
  { prefixes: words('sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_'), secret: letters(10) },
  { prefixes: words('sk_'), secret: hex(32) },
  { prefixes: words('rzp_live_ rzp_test_'), secret: letters(14) },
  { prefixes: words('shippo_live_ shippo_test_'), secret: hex(32) },
  { prefixes: words('duffel_live_ duffel_test_ FLWSECK- FLWSECK_TEST-'), secret: mixed(12) },
  { prefixes: words('sq0atp- sq0csp- sq0idp-'), secret: mixed(20) },
  { prefixes: words('EAAA'), secret: String.raw`(?=[\w-]*\d)[\w-]{56,}` },
  { prefixes: words('EZAK EZTK'), secret: letters(54) },
  { prefixes: ['whsec_'], secret: '[A-Za-z0-9][A-Za-z0-9+/_=-]{15,}' },
  {
    prefixes: ['access-production-', 'access-sandbox-', 'access-development-'],
    secret: '[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}',
  },
  {
    prefixes: ['access_token$production$', 'access_token$sandbox$'],
    secret: String.raw`[0-9a-z]{16}\$[0-9a-f]{32}`,
  },
  // GitHub, GitLab, Bitbucket, Atlassian, Sourcegraph.
  { prefixes: words('ghp_ gho_ ghs_ ghu_ ghr_ github_pat_'), secret: mixed(16) },
  {
    prefixes: words(
      'glpat- glptt- gldt- glrt- glrtr- glsoat- glft- glimt- glagent- gloas- glcbt- glffct- GR1348941',
    ),
    secret: String.raw`[A-Za-z0-9][\w-]{15,}(?:\.[\w-]+)*`,
  },
  { prefixes: words('ATATT3 ATCTT3'), secret: '[A-Za-z0-9_=-]{60,}' },
  { prefixes: ['ATBB'], secret: letters(28) },
  { prefixes: ['sgp_'], secret: '(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}' },
  // Package registries: npm, PyPI, RubyGems, NuGet, Clojars, crates.io, Docker, Artifactory.
  { prefixes: ['npm_'], secret: letters(30) },
  { prefixes: words('pypi- dckr_pat_ dckr_oat_'), secret: mixed(16) },
  { prefixes: ['rubygems_'], secret: hex(48) },
  { prefixes: ['CLOJARS_'], secret: letters(60) },
  { prefixes: ['oy2'], secret: '[a-z0-9]{43}' + END },
  { prefixes: ['cio'], secret: '[A-Za-z0-9]{32}' + END },
  { prefixes: ['AKCp'], secret: letters(60) },
  { prefixes: ['cmVmd'], secret: '[A-Za-z0-9]{59}' + END },
  // Clouds: AWS, Google, Alibaba, Tencent, DigitalOcean, Databricks, Heroku, Fly, Yandex, Supabase,
  // Vercel, PlanetScale, Pulumi, Prefect, Doppler, 1Password, Vault, Terraform, Dynatrace.
  { prefixes: words('AKIA ASIA ABIA ACCA'), secret: '[A-Z0-9]{16}(?![A-Za-z0-9])' },
  { prefixes: ['AIza'], secret: String.raw`[\w-]{35}` + END },
  { prefixes: ['GOCSPX-'], secret: mixed(16) },
  { prefixes: ['ya29.'], secret: String.raw`[\w-]{20,}` },
  { prefixes: ['1//0'], secret: String.raw`[\w-]{38,}` },
  { prefixes: ['LTAI'], secret: '[A-Za-z0-9]{20}(?![A-Za-z0-9])' },
  { prefixes: ['AKID'], secret: '[A-Za-z0-9]{32}(?![A-Za-z0-9])' },
  { prefixes: words('dop_v1_ doo_v1_ dor_v1_'), secret: mixed(16) },
  { prefixes: ['dapi'], secret: '[a-f0-9]{32}(?![A-Za-z0-9])' },
  { prefixes: ['dose'], secret: '[a-f0-9]{32}(?![A-Za-z0-9])' },
  { prefixes: ['HRKU-'], secret: mixed(36) },
  { prefixes: words('fo1_ fm1r_ fm1a_ fm2_'), secret: '[A-Za-z0-9][A-Za-z0-9+/_=-]{40,}' },
  { prefixes: ['t1.'], secret: String.raw`[\w-]{16,}={0,2}\.[\w-]{86}` },
  { prefixes: ['AQVN'], secret: String.raw`[\w-]{35,38}` + END },
  { prefixes: words('sbp_ sb_secret_ vercel_blob_rw_ sntryu_ pnu_ rdme_'), secret: withDigit(20) },
  { prefixes: ['sntrys_'], secret: '[A-Za-z0-9+/=_-]{40,}' },
  { prefixes: words('pscale_tkn_ pscale_pw_ pscale_oauth_'), secret: String.raw`[\w=.-]{32,}` },
  { prefixes: ['pul-'], secret: hex(40) },
  {
    prefixes: ['.'],
    secret: letters(40),
    after: String.raw`(?<![A-Za-z0-9])dp\.(?:pt|ct|sa|scim|audit|st(?:\.[\w-]{1,32})?)`,
  },
  { prefixes: ['ops_eyJ'], secret: '[A-Za-z0-9+/=_-]{60,}' },
  { prefixes: ['A3-'], secret: '[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}' + END },
  { prefixes: words('hvs. hvb. hvr.'), secret: String.raw`[\w-]{20,}` },
  { prefixes: ['.atlasv1.'], secret: String.raw`[\w=-]{40,}`, after: '[A-Za-z0-9]{14}' },
  { prefixes: words('dt0c01. dt0s01.'), secret: String.raw`[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}` },
  { prefixes: ['v1.0-'], secret: '[a-f0-9]{24}-[a-f0-9]{146}' },
  { prefixes: ['sha256~'], secret: String.raw`[\w-]{43}` + END },
  // Messages and mail: Slack, Telegram, Discord, SendGrid, Twilio, Mailgun, Mailchimp, Brevo, Resend.
  {
    prefixes: words('xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-'),
    secret: String.raw`[A-Za-z0-9][\w-]{15,}(?:%[0-9A-F]{2}[\w-]*)*`,
  },
  {
    prefixes: [':AA'],
    secret: String.raw`[\w-]{32,33}` + END,
    after: String.raw`(?<!\d)\d{8,10}`,
  },
  {
    prefixes: ['.'],
    secret: String.raw`[\w-]{27,40}` + END,
    after: String.raw`(?<![\w-])[MNO][\w-]{22,27}\.[\w-]{6}`,
  },
  { prefixes: ['SG.'], secret: String.raw`[\w-]{16,32}\.[\w-]{16,64}` },
  { prefixes: ['SK'], secret: '[0-9a-f]{32}(?![A-Za-z0-9])' },
  { prefixes: ['key-'], secret: '[0-9a-f]{32}(?![A-Za-z0-9])' },
  { prefixes: words('xkeysib- xsmtpsib-'), secret: mixed(60) },
  {
    prefixes: ['re_'],
    secret: '(?=[A-Za-z]*[0-9])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}',
  },
  // Products: Airtable, Asana, Contentful, CircleCI, Buildkite, Dropbox, Figma, Grafana, Harness,
  // Linear, LaunchDarkly, New Relic, Notion, Octopus, PostHog, Postman, Shopify, Adobe, Infracost.
  {
    prefixes: ['.'],
    secret: '[a-f0-9]{64}' + END,
    after: '(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}',
  },
  { prefixes: words('CFPAT- CCIPAT_ CCIPRJ_ bkua_ figd_ figo_ figu_ fio-u-'), secret: mixed(30) },
  { prefixes: ['sl.'], secret: String.raw`[\w-]{100,}` },
  { prefixes: words('glc_ glsa_'), secret: '[A-Za-z0-9][A-Za-z0-9+/_=-]{31,}' },
  { prefixes: ['eyJrIjoi'], secret: '[A-Za-z0-9=]{60,}' },
  { prefixes: words('pat. sat.'), secret: String.raw`[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}` },
  { prefixes: words('lin_api_ lin_oauth_'), secret: mixed(16) },
  { prefixes: words('sdk- api-'), secret: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}' + END },
  { prefixes: words('NRAK- NRII- NRRA- NRSP- NRIQ-'), secret: mixed(20) },
  { prefixes: ['ntn_'], secret: letters(40) },
  { prefixes: ['secret_'], secret: '(?=[A-Za-z]*[0-9])[A-Za-z0-9]{43}' + END },
  { prefixes: ['API-'], secret: '[A-Z0-9]{26,32}' + END },
  { prefixes: words('phx_ phs_'), secret: letters(40) },
  { prefixes: ['PMAK-'], secret: '[a-f0-9]{24}-[a-f0-9]{34}' },
  { prefixes: words('shpat_ shpca_ shppa_ shpss_ shptka_'), secret: mixed(16) },
  { prefixes: ['p8e-'], secret: '[A-Za-z0-9]{32}' + END },
  { prefixes: ['ico-'], secret: '[A-Za-z0-9]{32}' + END },
  { prefixes: words('sm_aat_ sm_pat_ sm_sat_'), secret: letters(16) },
  { prefixes: words('tk-us-'), secret: withDigit(40) },
  { prefixes: words('s-s4t2ud- s-s4t2af-'), secret: hex(64) },
  { prefixes: words('signkey-prod- signkey-test-'), secret: hex(32) },
  // Addresses that let anybody post: Slack, Discord, Microsoft Teams.
  {
    prefixes: ['/'],
    secret: letters(20),
    after: String.raw`\/(?:services|workflows|triggers)\/T[A-Za-z0-9]{6,12}(?:\/[A-Z][A-Za-z0-9]{6,12})?(?:\/\d{10,20})?`,
  },
  {
    prefixes: ['/'],
    secret: String.raw`[\w-]{60,}`,
    after: String.raw`\/webhooks\/\d{15,21}`,
  },
  { prefixes: ['/IncomingWebhook/'], secret: String.raw`[0-9a-f]{32}(?:\/[\w-]+)*`, after: '' },
  // Azure: client secrets, keys in connection strings, signatures of addresses.
  {
    prefixes: ['Q~'],
    secret: String.raw`[\w.~-]{31,34}`,
    after: String.raw`(?<![\w.~-])[\w.~-]{3}\d`,
  },
  { prefixes: ['AccountKey=', 'SharedAccessKey='], secret: '[A-Za-z0-9+/]{40,}={0,2}' },
  {
    prefixes: ['sig='],
    secret: '(?:[A-Za-z0-9+/_-]|%2[BbFf]){40,}(?:=|%3[Dd]){0,2}',
    after: '[?&]',
  },
  // The seed of a second factor.
  {
    prefixes: ['secret='],
    secret: '[A-Za-z2-7]{16,}',
    after: String.raw`otpauth:\/\/[^\s"'<>]{0,256}`,
  },
  // HubSpot, Netlify, SonarQube, Typeform, Mapbox, Salesforce, and hooks of Zapier.
  {
    prefixes: words('pat-na1- pat-eu1-'),
    secret: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}' + END,
  },
  { prefixes: ['nfp_'], secret: letters(30) },
  { prefixes: words('squ_ sqp_ sqa_'), secret: hex(40) },
  { prefixes: ['tfp_'], secret: mixed(40) },
  { prefixes: ['sk.eyJ'], secret: String.raw`[\w-]{20,}\.[\w-]{16,}` },
  {
    prefixes: ['!'],
    secret: String.raw`[\w.]{40,}`,
    after: '(?<![A-Za-z0-9])00D[A-Za-z0-9]{12,15}',
  },
  { prefixes: ['/'], secret: '[a-z0-9]{5,}', after: String.raw`\/hooks\/catch\/\d{4,12}` },
  // Encryption: age.
  { prefixes: ['AGE-SECRET-KEY-1'], secret: '[A-Z0-9]{50,58}' },
  // Header and claims stay readable for programs that decode them: without its signature a JWT is
  // useless.
  {
    prefixes: ['.'],
    secret: String.raw`[\w-]{16,}`,
    after: String.raw`(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}`,
  },
]

/** Mailchimp and MaxMind mark the end of a key, not its start. */
const MARKED_ENDS = [
  { mark: '-us', secret: '[0-9a-f]{32}', end: String.raw`-us\d{1,2}(?![A-Za-z0-9])` },
  { mark: '_mmk', secret: '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}', end: '_mmk(?![A-Za-z0-9])' },
] as const

/** Text that begins a key. A key of more than one part has none, and is not found in base64. */
export const KEY_PREFIXES: readonly string[] = KEY_SHAPES.flatMap(({ prefixes }) =>
  prefixes.filter((prefix) => prefix.length > 2),
)

// ── shapes of more than one word ────────────────────────────────────────────

/**
 * Searched only in a text that contains `has`. The first group of a match stays, the
 * second is hidden.
 */
const PHRASES: readonly { readonly has: string; readonly shape: string }[] = [
  {
    has: '@',
    // The word itself, as in documentation, tells nothing.
    shape: String.raw`(:\/\/[\w.%+~-]{0,64}:)(?!pass(?:w(?:or)?d)?@)([!#$%&()*+,.;=?\w~^-]{3,128})(?=@[\w.[-])`,
  },
  {
    has: 'PRIVATE KEY',
    shape: String.raw`(-----BEGIN [A-Z ]{0,24}PRIVATE KEY(?: BLOCK)?-----)([^-]{16,16384})(?=-----END )`,
  },
  // The private part of a JSON web key.
  {
    has: 'kty',
    // The surroundings are checked last, because that is slow.
    shape: String.raw`(\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s{0,4}:\s{0,4}\\*")([\w-]{20,1024})(?=\\*")(?:(?<=\\*"kty\\*"[^{}]{0,3200})|(?=[^{}]{0,2048}\\*"kty\\*"))`,
  },
  {
    has: 'Private-Lines',
    shape: String.raw`(Private-Lines: \d{1,3}(?:\r?\n|\\r?\\n))([\w+/=\r\n\\]{32,4096}?)(?=Private-MAC|$)`,
  },
]

// ── the search ──────────────────────────────────────────────────────────────

const WORD_START = '(?<![A-Za-z0-9])'

/** Its expressions are made when a text first contains the prefix: there are hundreds. */
class PreparedShape {
  #after: RegExp | undefined
  #secret: RegExp | undefined

  constructor(
    readonly shape: KeyShape,
    readonly prefix: string,
  ) {}

  /** Matched where the prefix begins. */
  get after(): RegExp {
    return (this.#after ??= new RegExp(`(?<=${this.shape.after ?? WORD_START})`, 'y'))
  }

  /** Matched where the prefix ends. */
  get secret(): RegExp {
    return (this.#secret ??= new RegExp(this.shape.secret, 'y'))
  }
}

const PREPARED: readonly PreparedShape[] = KEY_SHAPES.flatMap((shape) =>
  shape.prefixes.map((prefix) => new PreparedShape(shape, prefix)),
)
/** By the last two characters of the prefix; shapes with a shorter one by this character alone. */
const BY_END = new Map<number, PreparedShape[]>()
const MAY_END = new Uint8Array(1 << 14)
for (const shape of PREPARED) {
  const last = shape.prefix.charCodeAt(shape.prefix.length - 1)
  const befores =
    shape.prefix.length > 1
      ? [shape.prefix.charCodeAt(shape.prefix.length - 2)]
      : Array.from({ length: 128 }, (_, code) => code)
  for (const before of befores) {
    const end = (before << 7) | last
    MAY_END[end] = 1
    BY_END.set(end, [...(BY_END.get(end) ?? []), shape])
  }
}
const PREFIX_MAX = Math.max(...PREPARED.map(({ prefix }) => prefix.length))

const escaped = (text: string): string => text.replaceAll(/[$.*+?^(){}|[\]\\/]/g, String.raw`\$&`)
/** A search for any key, by the last character of the prefix: testing one character is fast. */
function anyKey(): string {
  const byLast = new Map<string, string[]>()
  for (const { prefixes, secret, after = WORD_START } of KEY_SHAPES)
    for (const last of new Set(prefixes.map((prefix) => prefix.slice(-1)))) {
      const alike = prefixes.filter((prefix) => prefix.endsWith(last)).map(escaped)
      byLast.set(last, [
        ...(byLast.get(last) ?? []),
        `(?<=${after}(?:${alike.join('|')}))(${secret})`,
      ])
    }
  return [
    ...[...byLast].map(([last, shapes]) => `(${escaped(last)})(?:${shapes.join('|')})`),
    ...PHRASES.map(({ shape }) => shape),
    ...MARKED_ENDS.map(({ secret, end }) => `(${WORD_START})(${secret})(?=${end})`),
  ].join('|')
}

let anyKeySource: string | undefined
let anyKeyTest: RegExp | undefined

/** A global expression that finds keys, for callers that hide them in another way. */
export const keyShapes = (): RegExp => new RegExp((anyKeySource ??= anyKey()), 'g')

export const hasKeyShape = (text: string): boolean =>
  text.search((anyKeyTest ??= new RegExp((anyKeySource ??= anyKey())))) >= 0

/**
 * Replaces every key with a placeholder of the same length. Masking twice changes nothing, so a
 * replay can mask its requests like the recording did. Not promised: encoded keys are not found;
 * see `redactText`. Every recorded body passes through here, so each kind of shape has its own fast
 * search; a single expression takes five times as long.
 */
export function maskKeys(text: string): string {
  if (text.length < SHORTEST_KEY) return text
  const masked = maskPhrases(text)
  let tokens = ''
  let from = 0
  for (
    let run = findRun(masked, 0);
    run !== undefined;
    run = findRun(masked, Math.max(run.end, from))
  ) {
    const found = maskTokens(masked, Math.max(run.start, from), run.end)
    if (found === undefined) continue
    tokens += masked.slice(from, Math.max(run.start, from)) + found.text
    from = found.end
  }
  return from === 0 ? masked : tokens + masked.slice(from)
}

/** Shapes of more than one word. */
export function maskPhrases(text: string): string {
  let masked = text
  for (const { has, expression } of PHRASE_SEARCHES)
    if (masked.includes(has)) masked = masked.replaceAll(expression, hidden)
  return masked
}

/**
 * Masks the keys that begin in a part of a text, which is a run of word characters. `end`: a key
 * with dots may continue after the run. Undefined if there is none.
 */
export function maskTokens(
  text: string,
  start: number,
  end: number,
): { readonly text: string; readonly end: number } | undefined {
  let masked = ''
  let from = start
  // Base64 and digests are one word each: a key can only begin at their start.
  const last = isOneWord(text, start, end) ? Math.min(end, start + PREFIX_MAX + 1) : end
  for (let at = start; at < last; at += 1) {
    const code = text.charCodeAt(at)
    if (code === DASH || code === UNDERSCORE) {
      const length = lengthBefore(text, at)
      if (length > 0 && at - length >= from) {
        masked += text.slice(from, at - length) + placeholderOf('', text.slice(at - length, at))
        from = at
      }
    }
    const key =
      at < 1 ? 0 : ((text.charCodeAt(at - 2) & 127) << 7) | (text.charCodeAt(at - 1) & 127)
    if (MAY_END[key] === 0) continue
    const length = secretAt(text, at, BY_END.get(key) ?? [])
    if (length === 0) continue
    masked += text.slice(from, at) + placeholderOf('', text.slice(at, at + length))
    from = at + length
    at = from - 1
  }
  if (masked === '') return undefined
  return { text: masked + text.slice(from, Math.max(from, end)), end: Math.max(from, end) }
}

function isOneWord(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at)
    if (code === DASH || code === UNDERSCORE || code === SLASH || code === PLUS) return false
  }
  return true
}

/** Length of the key that ends at a position; 0 if there is none. */
function lengthBefore(text: string, at: number): number {
  for (const { mark, shape } of END_SEARCHES) {
    if (!text.startsWith(mark, at)) continue
    shape.lastIndex = at
    const found = shape.exec(text)?.[1]
    if (found !== undefined && !found.startsWith(HIDDEN)) return found.length
  }
  return 0
}

/** Length of the key that begins at a position; 0 if there is none. */
function secretAt(text: string, at: number, shapes: readonly PreparedShape[]): number {
  for (const prepared of shapes) {
    const { prefix } = prepared
    const start = at - prefix.length
    if (start < 0 || !text.startsWith(prefix, start)) continue
    const { after, secret } = prepared
    after.lastIndex = start
    if (!after.test(text)) continue
    secret.lastIndex = at
    const found = secret.exec(text)
    if (found !== null) return found[0].length
  }
  return 0
}

const HIDDEN = 'retake-hidden'
const SHORTEST_KEY = 10
const PHRASE_SEARCHES = PHRASES.map(({ has, shape }) => ({
  has,
  expression: new RegExp(shape, 'g'),
}))
const END_SEARCHES = MARKED_ENDS.map(({ mark, secret, end }) => ({
  mark,
  shape: new RegExp(`(?<=${WORD_START}(${secret}))${end}`, 'y'),
}))
/** Every key has this many letters, digits, dashes and underscores in a row; words rarely do. */
const RUN = 16

interface Run {
  readonly start: number
  readonly end: number
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
    while (end < length && isWord(text.charCodeAt(end))) end += 1
    return { start, end }
  }
  return undefined
}

const WORD = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\w-]/.test(String.fromCharCode(code)) ? 1 : 0,
)
const isWord = (code: number): boolean => code < 128 && WORD[code] === 1

const DASH = 45
const PLUS = 43
const SLASH = 47
const UNDERSCORE = 95

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
  if (kept.startsWith('-----') || kept.startsWith('Private-Lines'))
    return secret.replaceAll(/\\[nr]|[A-Za-z0-9+/=]/g, (part) => (part.length === 2 ? part : 'x'))
  // A secret that is known by name already has its own placeholder.
  if (secret.startsWith(HIDDEN)) return secret
  return HIDDEN.slice(0, secret.length).padEnd(secret.length, 'x')
}

// ── keys that are cut ───────────────────────────────────────────────────────

/**
 * Replaces the start of a key at the end of a text that will be continued, with the same characters
 * that `maskKeys` uses for the whole key. To be told from an example such as `sk-your-key`, the
 * characters after the prefix must look generated. Not promised: a key that is marked at its end.
 */
export function maskCutKey(text: string): string {
  const block =
    (text.includes('PRIVATE KEY') ? CUT_BLOCK.exec(text) : null) ??
    (text.includes('Private-Lines') ? CUT_PUTTY.exec(text) : null)
  if (block !== null) {
    const start = block.index + block[0].length
    return text.slice(0, start) + placeholderOf('-----', text.slice(start))
  }
  let start = text.length
  const first = Math.max(0, start - CUT_MAX)
  while (start > first && !ENDS_TOKEN.test(text[start - 1] ?? '')) start -= 1
  if (text.length - start < CUT_MIN) return text
  for (let at = start + 1; at < text.length; at += 1) {
    const end = ((text.charCodeAt(at - 2) & 127) << 7) | (text.charCodeAt(at - 1) & 127)
    if (MAY_END[end] === 0) continue
    const shape = (BY_END.get(end) ?? []).find((each) => isCutAt(text, at, each))
    if (shape !== undefined) return text.slice(0, at) + placeholderOf('', text.slice(at))
  }
  const password = text.includes('://', start - 8) ? CUT_PASSWORD.exec(text.slice(start)) : null
  const at = password === null ? -1 : text.length - (password[1] ?? '').length
  return password !== null && looksCut(text.slice(at))
    ? text.slice(0, at) + placeholderOf('', text.slice(at))
    : text
}

function isCutAt(text: string, at: number, { shape, prefix, after }: PreparedShape): boolean {
  const start = at - prefix.length
  if (start < 0 || !text.startsWith(prefix, start)) return false
  const rest = text.slice(at)
  if (rest.includes('retake') || rest.length < CUT_SECRET_MIN) return false
  if (shape.after === undefined && !looksCut(rest)) return false
  after.lastIndex = start
  if (!after.test(text)) return false
  let cut = CUTS.get(shape)
  if (cut === undefined) CUTS.set(shape, (cut = new RegExp(`^(?:${cutSource(shape.secret)})`)))
  return cut.test(rest)
}

/** True if characters of several kinds alternate, as in no name or word; or for many digits. */
function looksCut(text: string): boolean {
  const characters = text.replaceAll(/[^A-Za-z\d]/g, '')
  if (/^\d{9,}/.test(characters) && !'01234567890123456789'.includes(characters.slice(0, 9)))
    return true
  const kinds = characters
    .replaceAll(/[a-z]/g, 'a')
    .replaceAll(/[A-Z]/g, 'A')
    .replaceAll(/\d/g, '1')
  let changes = 0
  for (let at = 1; at < kinds.length; at += 1) if (kinds[at] !== kinds[at - 1]) changes += 1
  return changes >= 3 && (kinds.includes('1') || changes >= kinds.length * 0.35)
}

const CUTS = new Map<KeyShape, RegExp>()
/** Characters at the end of a text in which a cut key is searched. */
const CUT_MAX = 4096
const CUT_MIN = 8
const CUT_SECRET_MIN = 4
const ENDS_TOKEN = /[\s"'`<>\\,;(){}[\]]/
const CUT_PASSWORD = /:\/\/[\w.%+~-]{0,64}:([!#$%&*+.=?\w~^-]{4,128})$/
const CUT_BLOCK = /-----BEGIN [A-Z ]{0,24}PRIVATE KEY(?: BLOCK)?-----(?![^]*-----END )/
const CUT_PUTTY = /Private-Lines: \d{1,3}(?:\r?\n|\\r?\\n)(?![^]*Private-MAC)/

/** An expression for everything that a match of a key shape may start with, up to the end of a text. */
function cutSource(source: string): string {
  const alternatives = ['']
  for (const { text, quantifier } of atomsOf(source)) {
    if (text === '|') alternatives.push('')
    else alternatives.push(`${alternatives.pop() ?? ''}${text}${quantifier}`)
  }
  return alternatives.map((alternative) => cutSequence(atomsOf(alternative))).join('|')
}

interface Atom {
  readonly text: string
  readonly quantifier: string
}

const cutSequence = ([atom, ...rest]: readonly Atom[]): string => {
  if (atom === undefined) return '$'
  const { text, quantifier } = atom
  // What must follow is not known yet.
  if (/^\(\?(?:=|!|<)/.test(text)) return cutSequence(rest)
  const most = /^\{\d+\}$/.test(quantifier)
    ? quantifier.slice(1, -1)
    : quantifier === '' || quantifier === '?'
      ? '1'
      : (/,(\d*)\}/.exec(quantifier)?.[1] ?? '')
  const inside = text.startsWith('(?:') ? `(?:${cutSource(text.slice(3, -1))})` : '$'
  return `(?:${text}${quantifier}${cutSequence(rest)}|${text}{0,${most}}${inside})`
}

/** Characters, classes and groups, each with its quantifier. */
function atomsOf(source: string): Atom[] {
  const atoms: Atom[] = []
  for (let at = 0; at < source.length;) {
    const start = at
    if (source[at] === '(') at = groupEnd(source, at)
    else if (source[at] === '[') at = classEnd(source, at)
    else at += source[at] === '\\' ? 2 : 1
    const quantifier = /^(?:\{\d+(?:,\d*)?\}|[*+?])?/.exec(source.slice(at))?.[0] ?? ''
    atoms.push({ text: source.slice(start, at), quantifier })
    at += quantifier.length
  }
  return atoms
}

function groupEnd(source: string, start: number): number {
  let depth = 0
  for (let at = start; at < source.length;) {
    if (source[at] === '[') at = classEnd(source, at)
    else {
      if (source[at] === '(') depth += 1
      if (source[at] === ')') depth -= 1
      at += source[at] === '\\' ? 2 : 1
      if (depth === 0) return at
    }
  }
  return source.length
}

const classEnd = (source: string, start: number): number => source.indexOf(']', start + 1) + 1
