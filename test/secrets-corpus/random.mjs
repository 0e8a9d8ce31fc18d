/** Random text that is the same in every process: a value depends on nothing but its seed. */

const DIGITS = '0123456789'
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()

/** Words of passwords that people choose. */
const WORDS =
  'amber anchor bakery barrel basket bottle bridge butter candle canvas castle cherry circus ' +
  'cobalt copper cotton cricket dragon falcon feather fiddle forest garden ginger hammer harbor ' +
  'hazel helmet island jacket jungle kettle ladder lagoon lantern lemon maple marble meadow ' +
  'mirror monkey muffin needle oyster paddle pepper pigeon pillow planet pocket prairie quartz ' +
  'rabbit ribbon river saddle saffron salmon shadow silver sparrow spider summer sunset thunder ' +
  'timber tulip turtle valley velvet violin walnut willow window winter wizard yellow zipper'

/** @param {string} seed */
export function randomText(seed) {
  let state = 0x811c9dc5
  for (const character of seed) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193)
  // mulberry32
  const fraction = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit) => Math.floor(fraction() * limit)
  const from = (alphabet) => (length) =>
    Array.from({ length }, () => alphabet[below(alphabet.length)]).join('')
  const hex = from('0123456789abcdef')
  const words = WORDS.split(' ')
  const word = () => words[below(words.length)]
  return {
    below,
    word,
    hex,
    digits: from(DIGITS),
    lower: from(LOWER),
    lowerDigits: from(LOWER + DIGITS),
    upperDigits: from(UPPER + DIGITS),
    alnum: from(LOWER + UPPER + DIGITS),
    letters: from(LOWER + UPPER),
    url: from(`${LOWER + UPPER + DIGITS}-_`),
    base64: from(`${LOWER + UPPER + DIGITS}+/`),
    base32: from(`${UPPER}234567`),
    bech32: from('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'),
    uuid: () => [8, 4, 4, 4, 12].map((length) => hex(length)).join('-'),
    /** A password that a person chose: no scanner knows it by its shape or entropy. */
    password: () => `${word()}${word()}${below(90) + 10}`,
    phrase: (count) => Array.from({ length: count }, word).join(' '),
  }
}
