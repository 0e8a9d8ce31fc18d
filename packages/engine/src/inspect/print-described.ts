import { clipText, DESCRIBED_WORDS } from '@retake/tape/format'

/** A described value on one line, as a person would write it; not longer than `most` characters. */
export function printDescribed(json: unknown, most = 200): string {
  return clipText(print(json, most), most)
}

const NAME = /^[A-Za-z_$][\w$]*$/

/** `room` is what is left of the line: there is no use in printing more. */
function print(json: unknown, room: number): string {
  if (typeof json === 'string') return quoted(json)
  if (typeof json !== 'object' || json === null) return String(json)
  if (Array.isArray(json)) return json.length === 0 ? '[]' : `[${parts(json.map(bare), room)}]`
  const { $type, ...rest } = json as { $type?: string } & Record<string, unknown>
  if ($type === undefined) return fields(rest, room)
  return DESCRIBED_WORDS[$type]?.(rest) ?? instance($type, rest, room)
}

type Part = (room: number) => string
const bare =
  (item: unknown): Part =>
  (room) =>
    print(item, room)

function parts(all: readonly Part[], room: number): string {
  let text = ''
  for (const part of all) {
    if (text.length > room) return `${text}, …`
    text += (text === '' ? '' : ', ') + part(room - text.length)
  }
  return text
}

function fields(tree: Readonly<Record<string, unknown>>, room: number): string {
  const entries = Object.entries(tree)
  if (entries.length === 0) return '{}'
  const all = entries.map(([name, item]): Part => {
    if (name === '…') return bare(item)
    return (left) => `${NAME.test(name) ? name : quoted(name)}: ${print(item, left)}`
  })
  return `{ ${parts(all, room)} }`
}

function instance(type: string, rest: Readonly<Record<string, unknown>>, room: number): string {
  if (Array.isArray(rest['entries'])) {
    const pairs = rest['entries'].map(
      (pair: unknown): Part =>
        (left) =>
          Array.isArray(pair)
            ? `${print(pair[0], left)} => ${print(pair[1], left)}`
            : print(pair, left),
    )
    return pairs.length === 0 ? `${type} {}` : `${type} { ${parts(pairs, room)} }`
  }
  if (Array.isArray(rest['values'])) {
    const values = rest['values'].map(bare)
    return values.length === 0 ? `${type} {}` : `${type} { ${parts(values, room)} }`
  }
  if (typeof rest['hex'] === 'string') return `${type}(${String(rest['bytes'])}) ${rest['hex']}`
  return `${type} ${fields(rest, room)}`
}

const quoted = (text: string): string =>
  text.includes("'") && !text.includes('"')
    ? JSON.stringify(text)
    : `'${JSON.stringify(text)
        .slice(1, -1)
        .replaceAll(String.raw`\"`, '"')
        .replaceAll("'", String.raw`\'`)}'`
