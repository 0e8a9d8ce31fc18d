/**
 * Finds values after names of secrets that are written with other letters than those of English:
 * `contraseña: …`, `パスワードは…です`. Every recorded body passes through here, so a text is only
 * searched if it contains a part of a name. Not promised: languages and names that are not listed.
 */
export interface ForeignValue {
  readonly strength: 'password' | 'secret'
  readonly start: number
  readonly end: number
}

/** Without the first letter of a word whose capital is another one. */
const PASSWORDS =
  'contraseña|lösenord|hasło|ifre|ароль|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|mật khẩu'
const KEYS =
  'API-Schlüssel|clé API|clé d’API|clé secrète|jeton d’accès|люч API|API-ключ|екретный ключ|окен|API密钥|密钥|密鑰|访问令牌|令牌|APIキー|アクセストークン|シークレットキー|秘密鍵|API 키|액세스 토큰'
const PHRASES =
  'phrase secrète|phrase de récupération|frase de recuperación|frase de recuperação|екретная фраза|助记词|助記詞|シードフレーズ'
/** A part of each of them. */
const PARTS =
  'señ|ösenord|asł|ş|Ş|роль|码|碼|口令|スワード|暗証|비밀|암호|ật kh|hlüssel|clé |d’acc|crète|люч|окен|钥|鑰|令牌|キー|トークン|鍵|API 키|토큰|écup|eraci|eraç|фраза|词|詞|フレーズ'
/** Between a name and its value. */
const LINKS = 'est|es|é|è|ist|lautet|is|är|er|jest|это|является|是|为|為|は|が|은|는'

const encoder = new TextEncoder()

/** As bytes with one character each. */
const bytesOf = (word: string): string => String.fromCharCode(...encoder.encode(word))

/** As JSON escapes it. */
const escapedOf = (word: string, slash: string): string =>
  word.replaceAll(
    /[^\0-\x7f]/g,
    (each) => `${slash}u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** The same words in each form that they may have. */
const anyOf = (words: string): string =>
  [...new Set([words, bytesOf(words), escapedOf(words, String.raw`\\{1,4}`)])].join('|')

const WIDE_COLON = anyOf('：')
const AFTER_NAME = String.raw`(?:[*_]{2})?(?:\s{0,2}(?::|=|${WIDE_COLON})\s{0,2}|\s{0,2}(?:${anyOf(LINKS)})(?:\s{1,2}|(?=[!-~]))|\s{1,2}(?=${'`'}))(?:[*_]{2})?(?:\\{0,4}["'${'`'}])?`
const VALUE = String.raw`([!#-&(-+\--;=?-\[\]-_a-z|~]{6,256})`
const WORDS = String.raw`((?:[a-z]{3,8} ){11,23}[a-z]{3,8})`
let search: RegExp | undefined
/** Made when it is first needed, because most programs never need it. */
const prepared = (): RegExp =>
  (search ??= new RegExp(
    `(?:(${anyOf(PASSWORDS)})|(?:${anyOf(KEYS)}))${AFTER_NAME}${VALUE}|(?:${anyOf(PHRASES)})${AFTER_NAME}${WORDS}`,
    'gi',
  ))

const PLAIN_PARTS = PARTS.split('|').flatMap((part) => [part, bytesOf(part)])
const ESCAPED_PARTS = PARTS.split('|')
  .filter((part) => escapedOf(part, '') !== part)
  .map((part) => escapedOf(part, '\\'))

/** Other letters, also as bytes; not quotes, dashes and symbols. */
const HAS_LETTERS = /[\xc3-\xe1\xe3-\xff\u0100-\u1fff\u3000-\ud7ff]/

/** `isAscii`: the text has no other characters. */
export function foreignValues(text: string, isAscii: boolean): ForeignValue[] {
  const mayOccur = isAscii
    ? text.includes('\\u') && ESCAPED_PARTS.some((part) => text.includes(part))
    : HAS_LETTERS.test(text) && PLAIN_PARTS.some((part) => text.includes(part))
  if (!mayOccur) return []
  return Array.from(
    text.matchAll(prepared()),
    ({ 0: all, 1: password, 2: value, 3: words, index }) => {
      const whole = value ?? words ?? ''
      const start = index + all.length - whole.length
      const end = start + whole.replace(/[.,:;!?)]+$/, '').length
      return { strength: password === undefined ? 'secret' : 'password', start, end }
    },
  )
}
