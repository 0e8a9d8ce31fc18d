/**
 * A random 32-bit number for each byte value. A sum of them that is shifted left once per byte
 * forgets a byte after 32 steps, which makes it a rolling hash.
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
