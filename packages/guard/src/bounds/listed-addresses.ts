import { inRange, isSingle, parseRange, type AddressRange } from './address-ranges.js'
import { invalidScope } from './host-pattern.js'
import type { Address } from './parse-address.js'

interface Entry {
  readonly range: AddressRange
  readonly port: number | undefined
}

/** The addresses of a network scope that are allowed although they are not public. */
export class ListedAddresses {
  readonly #entries: Entry[] = []
  readonly #sockets = new Set<string>()

  constructor(texts: readonly string[]) {
    for (const text of texts) {
      if (text.startsWith('unix:')) this.#sockets.add(text.slice('unix:'.length))
      else this.#entries.push(entryOf(text))
    }
  }

  /** Without a port it is asked whether the address is listed with any. */
  has(address: Address, port: number | undefined): boolean {
    return this.#entries.some((entry) => fits(entry, address, port))
  }

  /** Listed by itself, not as one of a block. */
  names(address: Address, port: number | undefined): boolean {
    return this.#entries.some((entry) => isSingle(entry.range) && fits(entry, address, port))
  }

  hasSocket(path: string): boolean {
    return this.#sockets.has(path)
  }
}

const fits = (entry: Entry, address: Address, port: number | undefined): boolean =>
  (entry.port === undefined || port === undefined || entry.port === port) &&
  inRange(address, entry.range)

/** `127.0.0.1`, `127.0.0.1:5432`, `10.0.0.0/8:*`, `::1`, `[::1]:80`, `[fd00::]/8:80`. */
function entryOf(text: string): Entry {
  const [, bracketed, bits = '', dotted, port] =
    /^(?:\[(.+)\](\/\d+)?|([\d./]+))(?::(\d+|\*))?$/.exec(text) ?? []
  const range = parseRange(bracketed === undefined ? (dotted ?? text) : bracketed + bits)
  const number = port === undefined || port === '*' ? undefined : Number(port)
  if (range === undefined || (number ?? 1) > 65_535)
    throw invalidScope(
      'addresses',
      text,
      '`127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`',
    )
  return { range, port: number }
}
