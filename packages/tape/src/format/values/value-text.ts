import { parseJson } from './json-shape.js'

/**
 * Values to compare, as text that shows their types: `"4.90"` is a string, `4.9` a number. Strings
 * are not quoted if one of them has several lines, as prompts do, and none could be taken for JSON.
 * Undefined stays undefined.
 */
export function valueTexts<Values extends readonly unknown[]>(
  values: Values,
  { indent }: { readonly indent?: number } = {},
): { [Index in keyof Values]: string | undefined } {
  const strings = values.filter((value) => typeof value === 'string')
  const isProse =
    strings.length === values.filter((value) => value !== undefined).length &&
    strings.some((text) => text.includes('\n')) &&
    strings.every((text) => parseJson(text) === undefined)
  return values.map((value) => (isProse ? value : JSON.stringify(value, undefined, indent))) as {
    [Index in keyof Values]: string | undefined
  }
}
