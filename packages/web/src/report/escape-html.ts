const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for an element or a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

/** JSON that can stand in a `<script>` of data: nothing in it can end the element. */
export const inlineJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll('<', String.raw`\u003c`)

/**
 * A script of ours that can stand in a `<script>`. What could end the element or hide
 * its end stands in strings and regular expressions, where a backslash changes nothing.
 */
export const inlineScript = (code: string): string =>
  code.replaceAll(/<(?=\/script)/gi, String.raw`\x3c`).replaceAll('<!--', String.raw`\x3c!--`)
