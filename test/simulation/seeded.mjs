/** Random numbers that follow from a seed alone. */
export class Seeded {
  #state

  constructor(seed) {
    this.#state = hashOf(String(seed))
  }

  /** A number from 0 up to 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** An integer from `min` to `max`, both included. */
  between(min, max) {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  chance(share) {
    return this.next() < share
  }

  pick(list) {
    return list[Math.floor(this.next() * list.length)]
  }

  bytes(size) {
    return Buffer.from(Array.from({ length: size }, () => this.between(0, 255)))
  }
}

/** A 32-bit hash of a text: FNV-1a with a final mix, because similar texts must not give similar numbers. */
export function hashOf(text) {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
