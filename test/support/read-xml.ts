/** One element of an XML document. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  readonly text: string
}

const TOKEN =
  /<\/(?<close>[\w-]+)>|<(?<open>[\w-]+)(?<attributes>(?:\s+[\w-]+="[^"<]*")*)\s*(?<empty>\/?)>|(?<text>[^<]+)/gy
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** Reads a document of elements, attributes and text; throws where it is not well-formed. */
export function readXml(document: string): XmlElement {
  const [declaration = ''] = /^<\?xml version="1\.0" encoding="UTF-8"\?>\n/.exec(document) ?? []
  if (declaration === '') throw new Error('no declaration')
  type Open = {
    name: string
    attributes: Record<string, string>
    children: XmlElement[]
    text: string
  }
  const root: Open = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  const body = document.slice(declaration.length)
  let at = 0
  for (const match of body.matchAll(TOKEN)) {
    at += match[0].length
    const { close, open: name, attributes = '', empty, text } = match.groups ?? {}
    const parent = open.at(-1) as Open
    if (text !== undefined) parent.text += decode(text)
    else if (close !== undefined) {
      if (open.length === 1 || parent.name !== close)
        throw new Error(`</${close}> in <${parent.name}>`)
      open.pop()
    } else {
      const pairs = [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)]
      const element: Open = {
        name: name ?? '',
        attributes: Object.fromEntries(
          pairs.map(([, key = '', value = '']) => [key, decode(value)]),
        ),
        children: [],
        text: '',
      }
      parent.children.push(element)
      if (empty === '') open.push(element)
    }
  }
  if (at !== body.length) throw new Error(`not XML: ${body.slice(at, at + 60)}`)
  if (open.length !== 1 || root.children.length !== 1) throw new Error('not one whole element')
  return root.children[0] as XmlElement
}

const decode = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|(\w+));|&/g, (whole, code?: string, name?: string) => {
    if (code !== undefined) return String.fromCodePoint(Number(code))
    const character = ENTITIES[name ?? '']
    if (character === undefined) throw new Error(`a bare ${whole}`)
    return character
  })
