import { isRandom, looksGenerated } from './named-secrets.js'

/**
 * Values that may be secrets: they look generated, and a word such as `key` or `password` is in
 * front of them, in whatever form. Looser than the rules of the recorder, which must not change
 * ordinary text. For people who look at each of them.
 */
export function hasPossibleSecret(text: string): boolean {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const start = index + word.length
    const after = /^[^\n{}[\]]{0,60}/.exec(text.slice(start, start + AFTER_MAX))?.[0] ?? ''
    for (const { 0: value, index: at } of after.matchAll(VALUE)) {
      if (at > BEFORE_VALUE) break
      const run = WHOLE.exec(text.slice(start + at, start + at + VALUE_MAX))?.[0] ?? value
      const whole = run.replace(/[.:=~-]+$/, '')
      if (whole.length >= VALUE_MAX || NOT_SECRET.test(whole)) continue
      if (UUID.test(whole) || isRandom(whole) || looksGenerated(whole, 10, 3)) return true
    }
  }
  return false
}

const WORD =
  /(?<![a-z])(?:key|token|secret|password|passphrase|passcode|passwd|pwd|credential|bearer|pin|senha|parola|wachtwoord|passwort|clave|mot de passe|пароль|токен|ключ|密码|密钥|令牌|パスワード|トークン|キー)(?![a-z])/gi
/** Characters between a word and a value. */
const BEFORE_VALUE = 40
const AFTER_MAX = 60
const VALUE_MAX = 256
const VALUE = /[\w+/=.~-]{10,}/g
const WHOLE = /^[\w+/=.~-]+/
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
/** Placeholders, addresses, paths, digests, and ids that providers give. */
const NOT_SECRET =
  /retake|x{4,}|x-redacted|^\.{0,2}\/|\.(?:[cm]?[jt]sx?|json|md|py|ya?ml|com|org|net|dev|io|example)\b|^(?:sha\d|md5|pbkdf)|(?:Int|Float)\d+(?:Clamped)?Array|^(?:call|msg|toolu|resp|req|run|chatcmpl|thread|asst|file|fp|cus|ord|pi)[_-]/i
