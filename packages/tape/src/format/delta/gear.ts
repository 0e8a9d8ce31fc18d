/**
 * A random 32-bit number for each byte value. Shifting a sum of them left once
 * a byte forgets a byte after 32: the hash rolls by itself.
 */
export const GEAR: Int32Array = gearTable()

function gearTable(): Int32Array {
  const table = new Int32Array(256)
  let x = 0x9e3779b9
  for (let i = 0; i < table.length; i++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    table[i] = x
  }
  return table
}
