/**
 * Cuts bytes where nobody would: pieces of random size, and about half of the
 * multi-byte characters cut in the middle. A client that decodes chunk by
 * chunk fails on this.
 *
 * @param {Buffer} bytes
 * @param {import('./dice.mjs').Dice} dice
 * @param {number} [maxSize] Largest piece.
 * @returns {Buffer[]}
 */
export function cutOddly(bytes, dice, maxSize = 160) {
  const pieces = []
  let start = 0
  let end = dice.between(1, maxSize)
  for (let at = 1; at <= bytes.length; at++) {
    const insideCharacter = at < bytes.length && (bytes[at] & 0b1100_0000) === 0b1000_0000
    if (at === bytes.length || at >= end || (insideCharacter && dice.chance(0.5))) {
      pieces.push(bytes.subarray(start, at))
      start = at
      end = at + dice.between(1, maxSize)
    }
  }
  return pieces
}

/**
 * Writes bytes piece by piece with random gaps, and ends the response. Stops
 * early when the client went away.
 *
 * @param {import('node:http').ServerResponse | import('node:http2').Http2ServerResponse} response
 * @param {string} text
 * @param {import('./dice.mjs').Dice} dice
 */
export async function writeOddly(response, text, dice) {
  for (const piece of cutOddly(Buffer.from(text), dice)) {
    if (response.destroyed || response.writableEnded) return
    response.write(piece)
    // Without a pause now and then pieces meet on the wire, as they do in life.
    if (dice.chance(0.6)) await dice.pause(2)
  }
  response.end()
}
